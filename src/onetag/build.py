"""Recipe -> live objects: the only place where names become objects, and where arguments are bound to signatures."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from onetag import catalog
from onetag.core.errors import UsageError, nearest
from onetag.core.labels import LabelTable
from onetag.learn.backbone import Backbone
from onetag.learn.labeler import Labeler
from onetag.learn.labels import NegativeWeights
from onetag.learn.loss import Loss
from onetag.recipe import Recipe


def bind(
    kind: str, settings: Mapping[str, Any], allow_code: tuple[str, ...] = (), offered: Mapping[str, Any] | None = None
) -> Any:
    """Make the component `settings["name"]` with the other settings as arguments; `offered` fills what it needs and nobody gave."""
    arguments = dict(settings)
    name = arguments.pop("name")
    if not isinstance(name, str):
        raise UsageError(f"{kind}.name is a word, not {name!r}")
    component = catalog.find(kind, name, allow_code).load()
    for key in getattr(component, "needs", ()):
        if key not in arguments and offered and offered.get(key) is not None:
            arguments[key] = offered[key]
    return call(component, f"{kind}/{name}", arguments)


def call(component: Any, where: str, arguments: Mapping[str, Any]) -> Any:
    """Call with checked arguments; every failure is a sentence that names the right ones."""
    signature = inspect.signature(component, eval_str=True)
    takes = "it takes " + (", ".join(str(p) for p in signature.parameters.values()) or "no arguments")
    for key in arguments:
        if key not in signature.parameters:
            hint = nearest(key, signature.parameters)
            raise UsageError(
                f"{where}: unexpected {key!r}; {hint if hint.startswith('did') else ''}{' ' if hint.startswith('did') else ''}{takes}"
            )
    missing = [k for k, p in signature.parameters.items() if p.default is p.empty and k not in arguments]
    if missing:
        raise UsageError(f"{where}: needs {missing[0]!r}; {takes}")
    maker = component.__init__ if inspect.isclass(component) else component
    hints = typing.get_type_hints(maker)
    checked = {}
    for key, value in arguments.items():
        try:
            checked[key] = msgspec.convert(value, hints.get(key, Any))
        except msgspec.ValidationError as error:
            raise UsageError(f"{where}: {key} = {value!r}: {str(error)[0].lower()}{str(error)[1:]}; {takes}") from error
    try:
        return component(**checked)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def loss(name: str, **arguments: Any) -> Loss:
    """A loss by name, as an `nn.Module` for anybody's loop: `onetag.loss("em", alpha=0.2)(logits, labels)`."""
    made = bind("losses", {"name": name, **arguments})
    assert isinstance(made, Loss)
    return made


def build_loss(recipe: Recipe, mean_tags: float | None, allow_code: tuple[str, ...] = ()) -> Loss:
    made = bind("losses", recipe.loss, allow_code, {"mean_tags": mean_tags})
    if not isinstance(made, Loss):
        raise UsageError(f"losses/{recipe.loss['name']}: {type(made).__name__} is not an onetag.learn.loss.Loss")
    return made


def build_labeler(recipe: Recipe, loss: Loss, allow_code: tuple[str, ...] = ()) -> Labeler | None:
    """The labeler, or none; refused where its scores would mean something else than it takes them for."""
    name = recipe.labeler["name"]
    if name == "none":
        extra = sorted(set(recipe.labeler) - {"name"})
        if extra:
            raise UsageError(f"labeler.{extra[0]} is set, but there is no labeler: set labeler.name, too")
        return None
    made = bind("labelers", recipe.labeler, allow_code)
    if not isinstance(made, Labeler):
        raise UsageError(f"labelers/{name}: {type(made).__name__} is not an onetag.learn.labeler.Labeler")
    if loss.activation not in made.activations:
        raise UsageError(
            f"labelers/{name} reads scores as probabilities of single cells ({', '.join(made.activations)}), "
            f"but losses/{recipe.loss['name']} gives {loss.activation} scores"
        )
    return made


def build_backbone(name: str, weights: str = "", image_size: int = 0, download: bool = False) -> Backbone:
    """A trunk by name; `image_size` 0 is its own."""
    made = catalog.find("backbones", name).load()(name, weights, download)
    assert isinstance(made, Backbone)
    if image_size and made.preprocessing.size:
        made.preprocessing = dataclasses.replace(made.preprocessing, size=image_size)
    return made


def negative_weights(recipe: Recipe, loss: Loss, observed: LabelTable) -> NegativeWeights:
    """The weight of observed negatives. "auto": the loss's own push on an unknown cell; 1 in classes without unknown cells."""
    given = recipe.labels.negative_weight
    if not isinstance(given, str):
        return NegativeWeights(np.full(observed.num_classes, given, np.float32))
    per_class = np.where(observed.class_counts(0) > 0, np.float32(loss.unknown_push), np.float32(1))
    return NegativeWeights(per_class, loss.complete_row_push)
