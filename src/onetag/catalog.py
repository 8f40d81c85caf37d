"""Name -> component: a component is a file in its folder whose `__all__` holds exactly one name.

Folders are read without importing (ast), so that listing stays fast and a missing optional dependency hurts only the part that needs it.
Installed packages add parts through the entry-point group `onetag.parts` (`losses.mine = "package.module"`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any

from onetag.core.errors import UsageError, nearest

KINDS = ("losses", "labelers", "backbones", "readers")


@dataclass(frozen=True)
class Entry:
    """One component, as its file describes it. `names` are what recipes call it by: the file's name, or those of a family."""

    kind: str
    names: tuple[str, ...]
    module: str
    attribute: str
    summary: str
    signature: str
    documentation: str

    @property
    def name(self) -> str:
        return self.names[0]

    def load(self) -> Any:
        """Import the component."""
        try:
            return getattr(import_module(self.module), self.attribute)
        except ModuleNotFoundError as error:
            raise UsageError(
                f"{self.kind}/{self.name} needs the package {error.name!r}, which is not installed"
            ) from error


def entries(kind: str) -> list[Entry]:
    """All components of a kind, by name."""
    if kind not in KINDS:
        raise UsageError(f"there is no kind of part {kind!r}; {nearest(kind, KINDS)}")
    found = {entry.names: entry for entry in _installed(kind)}
    found |= {entry.names: entry for entry in _own(kind)}
    return [found[names] for names in sorted(found)]


def names(kind: str) -> list[str]:
    return sorted(name for entry in entries(kind) for name in entry.names)


def find(kind: str, name: str, allow_code: tuple[str, ...] = ()) -> Entry:
    """The entry of a name: `em`; `timm:resnet18` (family `timm:NAME`); `package.module:Class`, run only when allowed."""
    found = entries(kind)
    for entry in found:
        if name in entry.names:
            return entry
    family = name.partition(":")[0]
    for entry in found:
        if ":" in name and f"{family}:NAME" in entry.names:
            return entry
    if ":" in name and "." in name.partition(":")[0]:
        module, _, attribute = name.partition(":")
        if module.split(".")[0] not in allow_code:
            raise UsageError(
                f"{kind}: {name!r} is code outside onetag; it runs only with --allow-code {module.split('.')[0]}"
            )
        return Entry(kind, (name,), module, attribute, "", "", "")
    raise UsageError(f"{kind}: {name!r} does not exist; {nearest(name, names(kind))}")


def _own(kind: str) -> Iterator[Entry]:
    spec = util.find_spec(f"onetag.{kind}")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.py")):
            if not path.name.startswith("_"):
                yield _describe(kind, path, f"onetag.{kind}.{path.stem}")


def _installed(kind: str) -> Iterator[Entry]:
    for point in metadata.entry_points(group="onetag.parts"):
        part, _, name = point.name.partition(".")
        if part == kind:
            spec = util.find_spec(point.module)
            if spec is not None and spec.origin is not None:
                yield _describe(kind, Path(spec.origin), point.module, name)


def _describe(kind: str, path: Path, module: str, name: str = "") -> Entry:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    constants = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("__all__", "NAMES")
    }
    exported = constants.get("__all__", [])
    if len(exported) != 1:
        raise UsageError(f"{path}: `__all__` must hold exactly one name, the component; it holds {len(exported)}")
    called = tuple(constants.get("NAMES", (name or path.stem,)))
    node = next((n for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == exported[0]), None)
    if node is None:
        raise UsageError(f"{path}: `__all__` names {exported[0]!r}, which the file does not define")
    document = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return Entry(kind, called, module, exported[0], document, _signature(node), ast.get_docstring(node) or "")


def _signature(node: ast.ClassDef | ast.FunctionDef) -> str:
    """The arguments as the source writes them."""
    made = node
    if isinstance(node, ast.ClassDef):
        init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if init is None:
            return ""
        made = init
    assert isinstance(made, ast.FunctionDef)
    arguments = made.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    shown = []
    for argument, default in pairs:
        if argument.arg != "self":
            kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
            shown.append(argument.arg + kind + (f" = {ast.unparse(default)}" if default is not None else ""))
    return ", ".join(shown)
