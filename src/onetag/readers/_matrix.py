"""Matrices of numbers from disk, read without running anything that is stored in them, and refused by row where they are not finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onetag.core.reading import DataError

_BLOCK = 1 << 22  # numbers that are looked at together


def load_array(path: Path) -> NDArray[Any]:
    """A `.npy`, mapped and not read: pages come in when they are used, and nothing that is written to them reaches the file."""
    try:
        return np.asanyarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except Exception as error:  # numpy reads the header as Python source, which fails in many ways
        raise DataError(path, f"cannot be read as a NumPy array ({_short(error)}); numpy.save makes one") from error


def load_matrix(path: Path) -> NDArray[np.floating]:
    """[N, D] of finite numbers from `.npy`, `.npz` (the array `features`, or the only matrix) or Parquet (the column `features`)."""
    suffix = path.suffix.casefold()
    made = (
        _from_npz(path)
        if suffix == ".npz"
        else _from_parquet(path)
        if suffix in (".parquet", ".pq")
        else load_array(path)
    )
    if made.ndim != 2 or not made.shape[1]:
        raise DataError(path, f"has the shape {made.shape}; a matrix of samples x features is expected")
    if not len(made):
        raise DataError(path, "has no rows; one row of features per sample is expected")
    if made.dtype.kind in "iub":
        made = made.astype(np.float32)
    if made.dtype.kind != "f":
        raise DataError(path, f"holds {made.dtype}; numbers are expected")
    step = max(_BLOCK // made.shape[1], 1)
    for start in range(0, len(made), step):
        wrong = ~np.isfinite(made[start : start + step]).all(axis=1)
        if wrong.any():
            row = start + int(wrong.argmax())
            column = int((~np.isfinite(made[row])).argmax())
            raise DataError(
                path, f"feature {column + 1} is {made[row, column]}; leave the sample out, or compute it again", row + 1
            )
    return made


def _from_npz(path: Path) -> NDArray[Any]:
    try:
        # Opened here, because numpy leaves the file open where the archive turns out to be broken.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(path, "is no archive of arrays; numpy.savez makes one")
            if "features" in archive.files:
                return np.asarray(archive["features"])
            arrays = {name: archive[name] for name in archive.files}
    except DataError:
        raise
    except Exception as error:  # as above; and an archive may be broken in more ways yet
        raise DataError(
            path, f"cannot be read as an archive of NumPy arrays ({_short(error)}); numpy.savez makes one"
        ) from error
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if len(matrices) != 1:
        raise DataError(
            path,
            f"holds {len(matrices)} matrices ({', '.join(sorted(arrays)) or 'no array'}); name the one of the features `features`",
        )
    return arrays[matrices[0]]


def has_features(path: Path) -> bool:
    """Whether a Parquet file has a column of lists called features."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.types as types

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError):
        return False
    kind = schema.field("features").type if schema.names.count("features") == 1 else pa.null()
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _from_parquet(path: Path) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        column = pq.read_table(path, columns=["features"])["features"]
        sizes = np.asarray(pc.fill_null(pc.list_value_length(column), -1).to_numpy(), dtype=np.int64)
        if len(sizes) and (sizes != sizes[0]).any():
            row = int((sizes != sizes[0]).argmax())
            raise DataError(
                path, f"has {max(sizes[row], 0)} features, where row 1 has {sizes[0]}; one length is expected", row + 1
            )
        parts = [np.asarray(pc.list_flatten(chunk).to_numpy(zero_copy_only=False)) for chunk in column.chunks]
        flat = np.concatenate(parts) if parts else np.zeros(0, np.float32)
        return flat.reshape(len(sizes), -1) if len(sizes) else np.zeros((0, 1), np.float32)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(path, f"its column of features cannot be read ({_short(error)})") from error


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
