"""Recipe: everything a run depends on, as typed data, TOML in and out; and the published methods, which are recipes with columns.

No default is hidden in code: `recipes/_defaults.toml` names every key, a method's file changes what it must, and its columns hold
the numbers per data set. Parsing never imports a component; the arguments of losses and labelers are checked by `build`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from onetag.core.errors import UsageError, nearest

OWN = "own"


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class DataPart(_Part, frozen=True):
    """What the run was given; empty strings where there is nothing."""

    train: str
    val: str
    test: str
    val_share: float
    labels: str


class LabelsPart(_Part, frozen=True):
    negative_weight: float | str


class OptimizerPart(_Part, frozen=True):
    name: str
    lr: float
    schedule: str
    l1: float
    l2: float
    weight_decay: float


class Phase(_Part, frozen=True):
    train: str
    epochs: int


class StoppingPart(_Part, frozen=True):
    """Stop after more than `patience` epochs without a better validation mAP, but not before epoch `floor`; patience -1: never."""

    patience: int
    floor: int


class Recipe(_Part, frozen=True):
    method: str
    backbone: str
    weights: str
    image_size: int
    annotation: str
    draw: str
    annotation_seed: int
    mean_tags: float
    batch_size: int
    min_steps: int
    dropout: float
    seed: int
    data: DataPart
    labels: LabelsPart
    loss: dict[str, Any]
    labeler: dict[str, Any]
    optimizer: OptimizerPart
    phases: tuple[Phase, ...]
    stopping: StoppingPart

    @property
    def num_epochs(self) -> int:
        return sum(phase.epochs for phase in self.phases)

    def for_samples(self, count: int) -> Recipe:
        """The recipe for so many samples: small data gets up to four times the epochs, until training takes `min_steps` steps."""
        per_epoch = max(1, -(-count // self.batch_size))
        wanted = min(4 * self.num_epochs, -(-self.min_steps // per_epoch))
        return set_epochs(self, self.phases[-1].epochs + max(0, wanted - self.num_epochs))

    def to_toml(self) -> str:
        return tomli_w.dumps(msgspec.to_builtins(self), multiline_strings=False)

    def change(self, settings: Mapping[str, Any], source: str = "--set") -> Recipe:
        """Another recipe with dotted keys changed (`{"loss.alpha": 0.2}`)."""
        plain = msgspec.to_builtins(self)
        for key, value in settings.items():
            _put(plain, key, value, source)
        return parse(plain, source)


def parse(plain: dict[str, Any], source: str) -> Recipe:
    """A recipe from plain data; unknown keys are errors that name the nearest valid one."""
    _check_keys(plain, Recipe, source)
    try:
        recipe = msgspec.convert(plain, Recipe, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {_in_our_words(str(error))}") from error
    _check_values(recipe, source)
    return recipe


def _in_our_words(message: str) -> str:
    what, _, where = message.partition(" - at `$")
    return f"{where.rstrip('`').lstrip('.')}: {what[0].lower()}{what[1:]}" if where else message


def _check_keys(plain: Mapping[str, Any], struct: type[msgspec.Struct], source: str, prefix: str = "") -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    for key, value in plain.items():
        if key not in fields:
            raise UsageError(
                f"{source}: unknown key {prefix + key!r}; {nearest(prefix + key, [prefix + name for name in fields])}"
            )
        kind = fields[key]
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, Mapping):
            _check_keys(value, kind, source, f"{prefix}{key}.")
    if prefix == "":
        for number, phase in enumerate(plain.get("phases") or ()):
            if isinstance(phase, Mapping):
                _check_keys(phase, Phase, source, f"phases[{number}].")
    missing = [name for name in fields if name not in plain]
    if missing:
        raise UsageError(f"{source}: missing key {prefix + missing[0]!r}")


def _check_values(recipe: Recipe, source: str) -> None:
    def refuse(key: str, why: str) -> None:
        raise UsageError(f"{source}: {key} {why}")

    weight = recipe.labels.negative_weight
    if isinstance(weight, str) and weight != "auto":
        refuse("labels.negative_weight", f'is a number or "auto", not {weight!r}')
    if not isinstance(weight, str) and not weight >= 0:
        refuse("labels.negative_weight", f"cannot be {weight}")
    if not recipe.phases:
        refuse("phases", "names nothing to train")
    for number, phase in enumerate(recipe.phases):
        if phase.epochs < 1:
            refuse(f"phases[{number}].epochs", f"must be 1 or more, not {phase.epochs}")
        if phase.train not in ("features", "head", "all"):
            refuse(
                f"phases[{number}].train", f"is {phase.train!r}; {nearest(phase.train, ['features', 'head', 'all'])}"
            )
    lowest = {
        "batch_size": 1,
        "min_steps": 0,
        "stopping.patience": -1,
        "stopping.floor": 0,
        "image_size": 0,
        "optimizer.l1": 0,
        "optimizer.l2": 0,
    }
    for key, low in lowest.items():
        part, _, name = key.rpartition(".")
        value = getattr(getattr(recipe, part) if part else recipe, name)
        if value < low:
            refuse(key, f"must be {low} or more, not {value}")
    if not 0 <= recipe.dropout < 1:
        refuse("dropout", f"lies in [0, 1), not {recipe.dropout}")
    if not 0 < recipe.optimizer.lr < float("inf"):
        refuse("optimizer.lr", f"must be above 0, not {recipe.optimizer.lr}")
    if recipe.optimizer.name not in ("adam", "adamw", "sgd"):
        refuse(
            "optimizer.name",
            f"is {recipe.optimizer.name!r}; {nearest(recipe.optimizer.name, ['adam', 'adamw', 'sgd'])}",
        )
    if recipe.optimizer.schedule not in ("constant", "cosine"):
        refuse("optimizer.schedule", f"is {recipe.optimizer.schedule!r}; valid: constant, cosine")
    for part in ("loss", "labeler"):
        if not isinstance(getattr(recipe, part).get("name"), str):
            refuse(f"{part}.name", "must name one (see `onetag list`)")
    if not 0 <= recipe.data.val_share < 1:
        refuse("data.val_share", f"lies in [0, 1), not {recipe.data.val_share}")


def _put(plain: dict[str, Any], key: str, value: Any, source: str) -> None:
    *parents, last = key.split(".")
    part = plain
    for name in parents:
        inside = part.get(name)
        if not isinstance(inside, dict):
            sections = [n for n, v in part.items() if isinstance(v, dict)]
            raise UsageError(f"{source}: unknown key {key!r}; {nearest(name, sections)}")
        part = inside
    free = parents in (["loss"], ["labeler"])  # arguments of components: `build` knows which there are
    if last not in part and not free:
        known = [".".join([*parents, name]) for name in part]
        raise UsageError(f"{source}: unknown key {key!r}; {nearest(key, known)}")
    if free and last == "name" and part.get("name") != value:
        part.clear()  # another component: the arguments of the old one mean nothing to it
    part[last] = value


def parse_setting(text: str) -> tuple[str, Any]:
    """`loss.alpha=0.2` -> ("loss.alpha", 0.2); values are TOML, or bare words."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {text!r}: write KEY=VALUE, as in loss.alpha=0.2")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def set_epochs(recipe: Recipe, epochs: int) -> Recipe:
    """The last phase runs this long."""
    phases = [msgspec.to_builtins(phase) for phase in recipe.phases]
    phases[-1]["epochs"] = epochs
    return recipe.change({"phases": phases, "min_steps": 0}, "--epochs")


@dataclass(frozen=True)
class Method:
    """A published method: a summary, where it comes from, its published test mAP, and a recipe per column."""

    name: str
    summary: str
    paper: str
    published: Mapping[str, tuple[float, float]]
    columns: tuple[str, ...]
    _base: Mapping[str, Any]
    _changes: Mapping[str, Mapping[str, Any]]

    def recipe(self, column: str = OWN) -> Recipe:
        if column not in self._changes:
            raise UsageError(f"method {self.name} has no numbers for {column!r}; {nearest(column, self.columns)}")
        return _merge(self._base, self._changes[column], self.name, f"recipe {self.name}")


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any], method: str, source: str) -> Recipe:
    plain = tomllib.loads(_resource("_defaults"))
    plain["method"] = method
    for level in (base, changes):
        for key, value in _flatten(level):
            _put(plain, key, value, source)
    return parse(plain, source)


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Dotted keys; a component's name comes first, since it clears what stood there."""
    flat: list[tuple[str, Any]] = []
    for key, value in sorted(tree.items(), key=lambda item: item[0] != "name"):
        flat.extend(_flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(prefix + key, value)])
    return flat


def _resource(name: str) -> str:
    return resources.files("onetag").joinpath("recipes", f"{name}.toml").read_text(encoding="utf-8")


def methods() -> list[str]:
    """The names of all published methods."""
    names = (entry.name for entry in resources.files("onetag").joinpath("recipes").iterdir())
    return sorted(name[: -len(".toml")] for name in names if name.endswith(".toml") and not name.startswith("_"))


def load_method(name: str) -> Method:
    if name not in methods():
        raise UsageError(f"method {name!r} does not exist; {nearest(name, methods())}")
    plain = tomllib.loads(_resource(name))
    columns = plain.pop("columns")
    published = {data: (float(m), float(s)) for data, (m, s) in plain.pop("published", {}).items()}
    return Method(name, plain.pop("summary"), plain.pop("paper"), published, tuple(columns), plain, columns)


def load_file(path: Path) -> Recipe:
    """A recipe from a file of the user's: complete, or what differs from the defaults (a method's name brings that method's numbers)."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"recipe {path}: cannot be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"recipe {path}: not TOML ({error})") from error
    method = plain.get("method", "")
    if isinstance(method, str) and method in methods():
        base = load_method(method).recipe()
        return base.change(dict(_flatten(plain)), f"recipe {path}")
    return _merge({}, plain, str(method) or path.stem, f"recipe {path}")


def differences(old: Recipe, new: Recipe) -> Iterable[str]:
    """Sentences about keys that differ."""
    before, after = dict(_flatten(msgspec.to_builtins(old))), dict(_flatten(msgspec.to_builtins(new)))
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield f"{key} was {before.get(key)!r}, is now {after.get(key)!r}"
