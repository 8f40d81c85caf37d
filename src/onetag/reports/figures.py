"""The report's figures, as SVG text."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Okabe-Ito: told apart by colour-blind readers, too; line styles help in print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_STYLES = ("-", "--", "-.", ":")


def _look(name: str, order: Sequence[str]) -> int:
    """A method looks the same in every figure of a page."""
    return list(order).index(name) if name in order else len(order)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # not pyplot: no backend, no global state

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _svg(figure: Any) -> str:
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "onetag", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def curves(
    series: Mapping[str, Sequence[Mapping[int, float]]],
    label: str,
    order: Sequence[str],
    scale: float = 1.0,
    levels: Mapping[str, float] | None = None,
) -> str:
    """A line per name (mean over its runs, at the epochs that all of them have), a band of one deviation where there are several."""
    figure, axes = _figure(8, 3.6)
    for name, runs in series.items():
        number = _look(name, order)
        there = [run for run in runs if run]
        epochs = sorted(set.intersection(*(set(run) for run in there)))
        if not epochs:
            continue
        values = scale * np.array([[run[epoch] for epoch in epochs] for run in there])
        colour, style = _COLOURS[number % len(_COLOURS)], _STYLES[number % len(_STYLES)]
        mean = values.mean(axis=0)
        axes.plot(
            epochs, mean, style, color=colour, label=name, linewidth=1.8, marker="o" if len(epochs) == 1 else None
        )
        if len(values) > 1:
            deviation = values.std(axis=0, ddof=1)
            axes.fill_between(epochs, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
    for name, level in (levels or {}).items():
        axes.axhline(level, color="#666666", linewidth=1, linestyle=(0, (1, 2)), label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return _svg(figure)


def per_class(values: Mapping[str, Mapping[str, float | None]], shown: Mapping[str, int], order: Sequence[str]) -> str:
    """Average precision by class, a dot per method, the most often shown class on top."""
    classes = sorted(shown, key=lambda name: shown[name])
    figure, axes = _figure(8, 1 + 0.21 * len(classes))
    places = {name: row for row, name in enumerate(classes)}
    for method, scores in values.items():
        number = _look(method, order)
        points = [(places[name], 100 * value) for name, value in scores.items() if value is not None and name in places]
        axes.scatter(
            [x for _, x in points], [y for y, _ in points], s=26, color=_COLOURS[number % len(_COLOURS)], label=method,
            marker="osD^vPX*"[number % 8], alpha=0.85, linewidths=0,
        )  # fmt: skip
    axes.set_yticks(range(len(classes)), [f"{name} ({shown[name]})" for name in classes], fontsize=8)
    axes.set_xlabel("average precision (%)")
    axes.set_xlim(0, 100)
    axes.set_ylim(-0.7, len(classes) - 0.3)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return _svg(figure)
