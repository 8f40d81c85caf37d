"""onetag: a multi-label image tagger from one known tag per picture.

Names are loaded when they are first used, so that `import onetag` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "Tag": "onetag.tagger",
    "Tagger": "onetag.tagger",
    "label_batch": "onetag.learn.labels",
    "load": "onetag.loading",
    "loss": "onetag.build",
    "train": "onetag.training",
}
_MODULES = ("labels", "metrics")

__all__ = ["Tag", "Tagger", "__version__", "label_batch", "labels", "load", "loss", "metrics", "train"]

if TYPE_CHECKING:
    from onetag import labels, metrics
    from onetag.build import loss
    from onetag.learn.labels import label_batch
    from onetag.loading import load
    from onetag.tagger import Tag, Tagger
    from onetag.training import train


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"onetag.{name}")
    raise AttributeError(f"module 'onetag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
