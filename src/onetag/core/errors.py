"""The two kinds of failure a person can cause, so that every command can answer with a sentence instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OnetagError(Exception):
    """The data or the run is not fine (exit code 1)."""

    exit_code = 1


class UsageError(OnetagError, ValueError):
    """Something was asked for in a wrong way: an option, a name, a recipe key (exit code 2)."""

    exit_code = 2


def nearest(name: str, valid: Iterable[str]) -> str:
    """The sentence that ends an error about an unknown name: the nearest right one, or all of them."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return "valid: " + ", ".join(names) if names else "there are none"
