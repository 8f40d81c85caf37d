"""ResNet-50 in its original (v1) form: the stride of a stage sits on the first 1x1 convolution (He et al., CVPR 2016)."""

from __future__ import annotations

from onetag.backbones import _weights
from onetag.core.errors import UsageError
from onetag.learn.backbone import Backbone, Preprocessing

__all__ = ["resnet_v1"]

NAMES = ("resnet50_v1",)


def resnet_v1(name: str, weights: str = "", download: bool = False) -> Backbone:
    """Weights come from a file. Those of v1.5 (torchvision, timm: stride on the 3x3) fit by name and compute nonsense here."""
    import timm

    if not weights:
        raise UsageError("backbones/resnet50_v1 has no weights of its own: give a file with --weights FILE")
    trunk = timm.create_model("resnet50", pretrained=False, num_classes=0)
    for stage in (trunk.layer2, trunk.layer3, trunk.layer4):
        stage[0].conv1.stride = (2, 2)
        stage[0].conv2.stride = (1, 1)
    _weights.load_into(trunk, weights, "resnet50_v1")
    preprocessing = Preprocessing(224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), "bilinear")
    return Backbone(name, trunk.eval(), 2048, preprocessing, weights)
