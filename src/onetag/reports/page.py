"""The page: a table over methods (mean and deviation over seeds), curves, classes, and example pictures."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onetag.core.errors import OnetagError
from onetag.recipe import load_method, methods
from onetag.reports import figures
from onetag.runs import Run, write_text


@dataclass(frozen=True)
class Group:
    """Runs of one method: they differ in their seeds."""

    name: str
    configs: list[dict[str, Any]]
    metrics: list[list[dict[str, Any]]]
    runs: list[Run]

    def values(self, key: str) -> list[float]:
        side = "test" if all("test" in config["results"] for config in self.configs) else "val"
        found = [config["results"].get(side, {}).get(key) for config in self.configs]
        return [float(value) for value in found if value is not None]

    def curve(self, *keys: str) -> list[dict[int, float]]:
        """Epoch -> number, per run."""
        curves = []
        for records in self.metrics:
            curve = {}
            for record in records:
                value: Any = record
                for key in keys:
                    value = value.get(key) if isinstance(value, dict) else None
                if value is not None:
                    curve[int(record["epoch"])] = float(value)
            curves.append(curve)
        return curves


def group(runs: Sequence[Run]) -> list[Group]:
    """Runs by method, best mean mAP first."""
    found: dict[str, Group] = {}
    for run in runs:
        config = run.config()
        name = (
            config["method"]
            if config["thresholds_from"]["rule"] != "matched"
            else f"{config['method']} (no complete labels)"
        )
        part = found.setdefault(name, Group(name, [], [], []))
        part.configs.append(config)
        part.metrics.append([record for record in run.metrics() if "test" not in record])
        part.runs.append(run)
    return sorted(found.values(), key=lambda g: -float(np.mean(g.values("map") or [0])))


def spread(values: Sequence[float], scale: float = 100) -> str:
    """Mean, and the deviation of a run where there are several."""
    if not values:
        return "-"
    mean = f"{scale * float(np.mean(values)):.1f}"
    return f"{mean} ± {scale * float(np.std(values, ddof=1)):.1f}" if len(values) > 1 else mean


def write_report(paths: Sequence[Path | str], out: Path) -> Path:
    """One HTML file; figures and pictures are inside it."""
    runs = [Run.open(path) for path in paths]
    if not runs:
        raise OnetagError("a report needs at least one run")
    groups = group(runs)
    parts = [_head(groups), _table(groups)]
    parts += [
        f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>" for svg, caption in _figures(groups)
    ]
    parts.append(_examples(groups))
    parts.append(_about(groups))
    body = "\n".join(part for part in parts if part)
    title = "onetag report"
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title>\n<style>{_STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    return out


def _head(groups: list[Group]) -> str:
    config = groups[0].configs[0]
    seeds = max(len(part.runs) for part in groups)
    tests = {side: result["pictures"] for side, result in config["results"].items()}
    on = ", ".join(f"{count:,} {side} pictures" for side, count in tests.items()) or "no labelled pictures"
    return (
        f"<h1>Tags from one known tag per picture</h1><p>{len(groups)} method{'s' * (len(groups) > 1)}, {'up to ' if len({len(part.runs) for part in groups}) > 1 else ''}{seeds} seed{'s' * (seeds > 1)} each; "
        f"{len(config['classes'])} tags, {config['train']['pictures']:,} training pictures, backbone {html.escape(config['backbone']['name'])} (frozen); measured on {on}.</p>"
    )


def _table(groups: list[Group]) -> str:
    columns = [
        ("map", "mAP"),
        ("micro_f1", "micro F1"),
        ("macro_f1", "macro F1"),
        ("precision_at_1", "precision at 1"),
        ("recall_at_3", "recall at 3"),
    ]
    most = max(len(part.runs) for part in groups)
    fair = [part for part in groups if not _knows_all(part) and len(part.runs) == most]
    best = {
        key: max((float(np.mean(g.values(key))) for g in fair if g.values(key)), default=None) for key, _ in columns
    }
    rows = []
    for part in groups:
        cells = []
        for key, _ in columns:
            values = part.values(key)
            top = best[key]
            is_best = (
                part in fair and len(fair) > 1 and bool(values) and top is not None and float(np.mean(values)) >= top
            )
            cells.append(f'<td class="{"best" if is_best else ""}">{spread(values)}</td>')
        rows.append(
            f"<tr><th scope=row>{html.escape(part.name)}</th><td class=words>{html.escape(_summary(part))}</td>{''.join(cells)}</tr>"
        )
    head = "".join(f"<th scope=col>{name}</th>" for _, name in columns)
    return (
        f"<h2>How good is it?</h2><div class=scroll><table><thead><tr><th scope=col>method</th><th scope=col class=words>what it does</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        "<p class=note>In percent, mean ± standard deviation over seeds. mAP: mean over tags of the average precision, tags without a positive picture left out. "
        "F1 at the thresholds stored with each model. Bold: best among methods with as many seeds that do not know every label.</p>"
    )


def _knows_all(part: Group) -> bool:
    return part.name.startswith("bce_full")


def _summary(part: Group) -> str:
    name = part.configs[0]["method"]
    return load_method(name).summary if name in methods() else ""


def _figures(groups: list[Group]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    order = sorted(part.name for part in groups)
    val = {g.name: g.curve("val", "map") for g in groups if any(g.curve("val", "map"))}
    if val:
        found.append(
            (
                figures.curves(val, "validation mAP (%)", order, 100),
                "Learning curves: validation mAP after each epoch (bands: one deviation over seeds).",
            )
        )
    shown = {g.name: g.curve("positive_loss") for g in groups if any(g.curve("positive_loss"))}
    if shown:
        found.append(
            (
                figures.curves(shown, "loss of known positives", order),
                "Training loss of the known tags. Under AN it stays high: assumed negatives pull against every tag.",
            )
        )
    right = {g.name: g.curve("pseudo_precision") for g in groups if any(g.curve("pseudo_precision"))}
    if right:
        coin = next(level for g in groups for c in g.curve("pseudo_precision_of_a_coin") for level in c.values())
        found.append(
            (
                figures.curves(right, "right pseudo-labels (%)", order, 100, {"drawn at random": 100 * coin}),
                "How many pseudo-labels are right, by epoch.",
            )
        )
    ap = {
        g.name: g.configs[0]["results"].get("test", g.configs[0]["results"].get("val", {})).get("average_precision")
        for g in groups
    }
    known = {name: values for name, values in ap.items() if values}
    if known:
        first = next(iter(known.values()))
        if len(first) <= 60:
            found.append(
                (
                    figures.per_class(known, groups[0].configs[0]["train"]["shown"], order),
                    "Average precision of each tag (first seed), tags ordered by how often they were shown.",
                )
            )
    return found


def _examples(groups: list[Group]) -> str:
    part = next(
        (g for g in groups if not _knows_all(g) and (g.runs[0].path / "examples" / "examples.json").exists()), None
    )
    if part is None:
        return ""
    folder = part.runs[0].path / "examples"
    cards = []
    for example in json.loads((folder / "examples.json").read_text(encoding="utf-8")):
        data = base64.b64encode((folder / example["file"]).read_bytes()).decode()
        given = {tag["tag"]: tag["score"] for tag in example["given"]}
        true = example["true"]
        tags = []
        for name, score in given.items():
            kind = "found" if true is None or name in true else "wrong"
            tags.append(
                f"<li class={kind if true is not None else 'given'}>{_SIGN[kind] if true is not None else ''}{html.escape(name)} <small>{score:.2f}</small></li>"
            )
        tags += [
            f"<li class=missed>{_SIGN['missed']}{html.escape(name)}</li>" for name in true or () if name not in given
        ]
        cards.append(
            f'<div class=card><img alt="{html.escape(example["path"])}" src="data:image/jpeg;base64,{data}"><ul>{"".join(tags)}</ul></div>'
        )
    legend = "".join(
        f"<span class={kind}>{_SIGN[kind]}{words}</span> "
        for kind, words in (("found", "found"), ("missed", "missed"), ("wrong", "wrong"))
    )
    return f"<h2>What it says</h2><p>Tags of <b>{html.escape(part.name)}</b> on pictures chosen by chance. {legend}</p><div class=grid>{''.join(cards)}</div>"


_SIGN = {"found": "✓ ", "missed": "○ ", "wrong": "✗ "}


def _about(groups: list[Group]) -> str:
    items = []
    for part in groups:
        rule = part.configs[0]["thresholds_from"]
        text = f"thresholds: {rule['rule']} on {rule['on']}"
        if "mean_tags" in rule:
            text += f", {rule['mean_tags']:.2f} tags per picture ({rule['mean_tags_source']})"
        epochs = ", ".join(f"{config['epochs']['best']} of {config['epochs']['last']}" for config in part.configs)
        items.append(
            f"<li><b>{html.escape(part.name)}</b>: {html.escape(text)}; epochs used: {epochs}; "
            f"{'; '.join(html.escape(str(run.path)) for run in part.runs)}</li>"
        )
    return f"<h2>How it was measured</h2><ul class=about>{''.join(items)}</ul>"


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d8dee4;--paper:#fff;--found:#0b6e4f;--missed:#8a5a00;--wrong:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a7b0ba;--line:#3a424b;--paper:#15181c;--found:#5fd0a5;--missed:#f0b95a;--wrong:#ff8a80}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:66rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.7rem;margin:.2em 0}h2{margin-top:2rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.4rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,.words{text-align:left}td.words{white-space:normal;color:var(--soft);font-size:.9rem;min-width:11rem}
td.best{font-weight:700}.scroll{overflow-x:auto}.note,figcaption,small{color:var(--soft);font-size:.88rem}
figure{margin:1.5rem 0;background:#fff;border-radius:8px;padding:.5rem}figure svg{width:100%;height:auto;display:block}figcaption{color:#5b6570;padding:.2rem .6rem}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:1rem}
.card{border:1px solid var(--line);border-radius:8px;overflow:hidden}.card img{width:100%;display:block;aspect-ratio:1;object-fit:cover}
.card ul{list-style:none;margin:0;padding:.5rem .7rem .7rem;font-size:.9rem}
.found{color:var(--found)}.missed{color:var(--missed)}.wrong{color:var(--wrong)}.about{color:var(--soft);font-size:.9rem}
"""
