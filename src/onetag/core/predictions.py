"""Predictions: scores of samples, as predict, metrics, completion and review exchange them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import OnetagError


@dataclass(frozen=True)
class Predictions:
    """`scores` are probabilities [N, C]; `run` says which model made them, `split` on which side each sample stood."""

    scores: NDArray[np.float32]
    ids: NDArray[np.str_]
    classes: tuple[str, ...]
    run: str = ""
    split: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        if self.scores.shape != (len(self.ids), len(self.classes)):
            raise ValueError(f"scores {self.scores.shape} for {len(self.ids)} samples and {len(self.classes)} classes")

    def __len__(self) -> int:
        return len(self.ids)

    def save(self, path: Path) -> None:
        """Parquet: path, split, scores as one fixed-size list column; class names in the schema's metadata."""
        import json

        import pyarrow as pa
        import pyarrow.parquet as pq

        column = pa.FixedSizeListArray.from_arrays(
            pa.array(self.scores.reshape(-1), pa.float32()), max(len(self.classes), 1)
        )
        sides = self.split if self.split is not None else np.full(len(self.ids), "")
        about = {"onetag": json.dumps({"classes": list(self.classes), "run": self.run})}
        table = pa.table(
            {
                "path": pa.array(self.ids.tolist(), pa.string()),
                "split": pa.array(sides.tolist(), pa.string()),
                "scores": column,
            }
        )
        aside = path.with_name(path.name + ".tmp")
        pq.write_table(table.replace_schema_metadata(about), aside)
        aside.replace(path)

    @classmethod
    def load(cls, path: Path) -> Predictions:
        import json

        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
            about = json.loads((table.schema.metadata or {})[b"onetag"])
        except (OSError, KeyError, ValueError, pa.ArrowInvalid) as error:
            raise OnetagError(f"{path}: not a predictions file of onetag ({error})") from error
        classes = tuple(about["classes"])
        scores = table["scores"].combine_chunks()
        flat = scores.flatten() if isinstance(scores, pa.FixedSizeListArray) else scores
        return cls(
            np.asarray(flat, dtype=np.float32).reshape(-1, len(classes)),
            np.asarray(table["path"].to_pylist(), dtype=np.str_),
            classes,
            about["run"],
            np.asarray(table["split"].to_pylist(), dtype=np.str_),
        )
