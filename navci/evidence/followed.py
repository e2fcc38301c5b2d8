"""Code of the tests as it was at base, but with the imports of modules that were moved since."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def follow_imports(base: str, now: str, moved: Callable[[str], bool]) -> str | None:
    """``base`` with the imports of ``moved`` modules (dotted, dots before it for a relative one)
    taken from ``now``; ``None`` when there is none, or when ``now`` has no import in its place.

    Everything else is as it was: a change that comes along with an import counts as any other.
    """
    try:
        old, new = ast.parse(base), ast.parse(now)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    instead = {bound: statement for bound, statement, _ in _imports(new)}
    data = base.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    edits: list[tuple[int, int, bytes]] = []
    for node in ast.walk(old):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        statements, gone = [], False
        for bound, statement, modules in _bindings(node):
            if any(moved(module) for module in modules):
                gone = True
                if bound not in instead:
                    return None
                statement = instead[bound]
            statements.append(statement)
        if gone:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            edits.append((start, end, "; ".join(statements).encode()))
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text + data[end:]
    return data.decode() if edits else None


def _imports(tree: ast.AST) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _bindings(node)


def _bindings(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """For each name an import binds: the name, a statement that binds it alone, what it loads."""
    for alias in node.names:
        said = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name
            yield bound, f"import {said}", (alias.name,)
        else:
            module = "." * node.level + (node.module or "")
            joined = f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
            bound = alias.asname or alias.name
            bound = f"* of {module.rpartition('.')[2]}" if bound == "*" else bound
            yield bound, f"from {module} import {said}", (module, joined)
