"""Plain arrays in files: safetensors, written aside and renamed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onetag.core.errors import OnetagError


def save_arrays(path: Path, parts: dict[str, NDArray[np.generic]]) -> None:
    """Write arrays beside the target and rename: a reader sees all or nothing, equal content is equal bytes."""
    from safetensors.numpy import save

    aside = path.with_name(path.name + ".tmp")
    aside.write_bytes(save({name: np.ascontiguousarray(part) for name, part in sorted(parts.items())}))
    aside.replace(path)


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError) as error:
        raise OnetagError(f"{path}: cannot be read as saved arrays ({error})") from error
