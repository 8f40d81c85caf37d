"""Tagger: a trained model for users - pictures in, tags with scores out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from onetag.core import process
from onetag.core.errors import OnetagError
from onetag.runs import Run

Picture: TypeAlias = "str | Path | Any"
"""A path, a PIL picture, or a uint8 array [H, W, 3]."""

_BLOCK = 32


class Tag(NamedTuple):
    name: str
    score: float


class Tagger:
    """`Tagger.load(run)`, then call it with a picture. A tag is given where its score reaches the tag's own threshold."""

    def __init__(self, config: dict[str, Any], head: Any, backbone: Any) -> None:
        self.config = config
        self.classes: tuple[str, ...] = tuple(config["classes"])
        self.thresholds: NDArray[np.float64] = np.asarray(config["thresholds"], np.float64)
        self._head = head
        self._backbone = backbone

    @classmethod
    def load(cls, run: str | Path) -> Tagger:
        """From a finished run folder."""
        process.prepare()
        from onetag.build import build_backbone
        from onetag.engine.finish import load_head

        folder = Run.open(run)
        config = folder.config()
        about = config["backbone"]
        weights = (
            "" if about["weights"] in ("", "embedded") or not Path(about["weights"]).exists() else about["weights"]
        )
        backbone = build_backbone(about["name"], weights, about["preprocessing"]["size"])
        if about["dim"] and backbone.dim and backbone.fingerprint() != about["fingerprint"]:
            raise OnetagError(
                f"{run}: its head was trained on another {about['name']} than the one found here (other weights or preprocessing)"
            )
        return cls(config, load_head(folder, tuple(config["classes"])), backbone)

    @property
    def takes_features(self) -> bool:
        """The model was trained on feature vectors, not on pictures."""
        return bool(self.config["backbone"]["name"] == "features")

    @overload
    def __call__(self, pictures: str | Path) -> list[Tag]: ...
    @overload
    def __call__(self, pictures: Any) -> Any: ...
    def __call__(self, pictures: Any) -> Any:
        """The tags of a picture, best first, at least one; a list of pictures gives a list of lists."""
        many = isinstance(pictures, list | tuple)
        found = [self.tags(row) for row in self.scores(pictures if many else [pictures])]
        return found if many else found[0]

    def tags(self, scores: NDArray[np.float32], top: int | None = None, min_score: float | None = None) -> list[Tag]:
        """Tags for a row of scores: those at or above their thresholds (or `min_score`, or the first `top`), at least the best one."""
        order = np.argsort(-scores, kind="stable")
        if top is not None:
            chosen = order[: max(top, 1)]
            chosen = chosen[scores[chosen] >= min_score] if min_score is not None else chosen
        else:
            chosen = order[scores[order] >= (self.thresholds[order] if min_score is None else min_score)]
        chosen = chosen if len(chosen) else order[:1]
        return [Tag(self.classes[c], float(scores[c])) for c in chosen]

    def scores(self, pictures: Sequence[Picture] | NDArray[np.floating]) -> NDArray[np.float32]:
        """Scores [N, C]. For a model on feature vectors: a matrix [N, D]."""
        if self.takes_features:
            return self.scores_of_features(np.asarray(pictures, np.float32))
        blocks: list[NDArray[np.float32]] = []
        for block, failed in self.stream(list(pictures)):
            for row, why in failed.items():
                raise OnetagError(f"{pictures[len(blocks) * _BLOCK + row]}: {why}")
            blocks.append(block)
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.classes)), np.float32)

    def scores_of_features(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        import torch

        from onetag.learn.loss import activate

        matrix = np.ascontiguousarray(features, np.float32)
        dim = self.config["backbone"]["dim"]
        if matrix.ndim != 2 or matrix.shape[1] != dim:
            raise OnetagError(f"features of shape {matrix.shape}; this model takes [N, {dim}]")
        with torch.inference_mode():
            return np.asarray(activate(self._head(torch.from_numpy(matrix)), self.config["activation"]).numpy())

    def stream(self, pictures: Sequence[Picture]) -> Iterator[tuple[NDArray[np.float32], dict[int, str]]]:
        """Scores in blocks, and which pictures of the block could not be read, and why (their rows are NaN)."""
        from onetag.engine.features import embed

        with ThreadPoolExecutor() as pool:
            blocks = [pictures[start : start + _BLOCK] for start in range(0, len(pictures), _BLOCK)]
            ahead = [pool.submit(self._decode, picture) for picture in blocks[0]] if blocks else []
            for number, block in enumerate(blocks):
                decoded = [future.result() for future in ahead]
                if number + 1 < len(blocks):
                    ahead = [pool.submit(self._decode, picture) for picture in blocks[number + 1]]
                failed = {row: why for row, why in enumerate(decoded) if isinstance(why, str)}
                good = [picture for picture in decoded if not isinstance(picture, str)]
                values = np.full((len(block), len(self.classes)), np.nan, np.float32)
                if good:
                    readable = [row for row in range(len(block)) if row not in failed]
                    values[readable] = self.scores_of_features(embed(self._backbone, good))
                yield values, failed

    def _decode(self, picture: Picture) -> NDArray[np.uint8] | str:
        from PIL import Image

        from onetag.engine.pictures import PictureError, square, to_square

        preprocessing = self._backbone.preprocessing
        try:
            if isinstance(picture, str | Path):
                return square(str(picture), preprocessing.size, preprocessing.interpolation)
            if not isinstance(picture, Image.Image):
                picture = Image.fromarray(np.asarray(picture))
            return to_square(picture, preprocessing.size, preprocessing.interpolation)
        except PictureError as error:
            return str(error)
