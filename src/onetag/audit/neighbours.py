"""What lies beside a path that leads nowhere: names that differ in case or Unicode form, as pictures have that came from another system."""

from __future__ import annotations

import os
import unicodedata


class Neighbours:
    """Every folder is listed once."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, str]] = {}

    def hint(self, path: str) -> dict[str, str]:
        """`why`, where there is something to say."""
        folder, name = os.path.split(path)
        if folder not in self._folders:
            try:
                self._folders[folder] = {_plain(other): other for other in os.listdir(folder or ".")}
            except OSError:
                self._folders[folder] = {}
        other = self._folders[folder].get(_plain(name))
        if other is None:
            return {}
        form = unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", name)
        return {"why": f"{other} is there: its name has another {'Unicode form' if form else 'case'}"}


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
