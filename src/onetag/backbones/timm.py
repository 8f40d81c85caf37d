"""Any model of timm, and the paper's ResNets by their short names (He et al., CVPR 2016)."""

from __future__ import annotations

from typing import Any

from onetag.backbones import _weights
from onetag.core.errors import OnetagError, UsageError, nearest
from onetag.learn.backbone import Backbone, Preprocessing

__all__ = ["timm_model"]

NAMES = ("timm:NAME", "resnet34", "resnet50", "resnet101")


def timm_model(name: str, weights: str = "", download: bool = False) -> Backbone:
    """`timm:NAME` as timm calls it; `resnet34|50|101` are `*.tv_in1k`. Weights: a file, timm's cache, its hub on `--download`."""
    import timm

    called = name.removeprefix("timm:") if name.startswith("timm:") else f"{name}.tv_in1k"
    architecture = called.partition(".")[0]
    if architecture not in timm.list_models():
        raise UsageError(f"backbones: timm has no model {architecture!r}; {nearest(architecture, timm.list_models())}")
    trunk = timm.create_model(called, pretrained=False, num_classes=0) if weights else _pretrained(called, download)
    if weights:
        _weights.load_into(trunk, weights, architecture)
    settings = timm.data.resolve_data_config({}, model=trunk)
    preprocessing = Preprocessing(
        int(settings["input_size"][-1]), tuple(settings["mean"]), tuple(settings["std"]), str(settings["interpolation"])
    )
    return Backbone(name, trunk.eval(), int(trunk.num_features), preprocessing, weights or called)


def _pretrained(called: str, download: bool) -> Any:
    """From timm's cache; from the hub only when asked."""
    import timm
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not download
    try:
        return timm.create_model(called, pretrained=True, num_classes=0)
    except Exception as error:  # the hub's client raises many types
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        hint = "" if download else "; --download fetches them, --weights FILE takes yours"
        raise OnetagError(f"no weights of {called} on this machine{hint} ({why})") from error
    finally:
        constants.HF_HUB_OFFLINE = before
