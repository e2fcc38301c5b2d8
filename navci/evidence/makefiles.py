"""What ``make`` would run for a target, as far as the text tells; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from navci.system.globs import match_glob

_VARIABLE = re.compile(r"^(?:export\s+|override\s+)*([\w.-]+)\s*(?:[:?+]|::)?=\s*(.*)$")
_RULE = re.compile(r"^([^\s#:=][^:=#]*?)\s*::?(?!=)\s*([^;]*)(?:;(.*))?$")
_INCLUDE = re.compile(r"^\s*(?:-|s)?include\s+(.*)$")
_USED = re.compile(r"\$[({]([\w.-]+)[)}]")
_DEPTH = 5


@dataclass
class Makefile:
    """Rules and variables of makefiles, added one text after another."""

    variables: dict[str, str] = field(default_factory=lambda: {"MAKE": "make"})
    needs: dict[str, list[str]] = field(default_factory=dict)
    recipes: dict[str, list[str]] = field(default_factory=dict)

    def add(self, text: str) -> list[str]:
        """Take ``text`` up; the files it includes, as written (maybe globs)."""
        included: list[str] = []
        targets: list[str] = []
        for line in text.replace("\\\n", " ").splitlines():
            if line.startswith("\t"):
                for target in targets:
                    self.recipes[target].append(line.strip())
            elif found := _INCLUDE.match(line):
                words = re.sub(r"\$\(wildcard\s+([^)]*)\)", r"\1", found[1])
                included += self.expanded(words).split()
            elif found := _VARIABLE.match(line):
                self.variables[found[1]] = found[2]
            elif found := _RULE.match(line):
                targets = self.expanded(found[1]).split()
                for target in targets:
                    needs = self.expanded(found[2]).replace("|", " ").split()
                    self.needs.setdefault(target, []).extend(needs)
                    recipe = self.recipes.setdefault(target, [])
                    recipe += [found[3].strip()] if found[3] else []
        return included

    def commands(self, targets: Iterable[str]) -> Iterator[str]:
        """The lines run for ``targets`` and what they need; for one that is not there, all."""
        wanted = list(targets) or [name for name in self.needs if not name.startswith(".")][:1]
        done: set[str] = set()
        while wanted:
            target = wanted.pop()
            rules = [name for name in self.needs if _makes(name, target)]
            if not rules and target in targets:
                rules = list(self.needs)
            for rule in rules:
                if rule not in done:
                    done.add(rule)
                    wanted += self.needs[rule]
                    for line in self.recipes[rule]:
                        yield self.expanded(line).lstrip("@-+ ").replace("$$", "$")

    def expanded(self, text: str) -> str:
        """``text`` with the variables that have a value here put in."""
        for _ in range(_DEPTH):
            now = _USED.sub(lambda found: self.variables.get(found[1], found[0]), text)
            if now == text or len(now) > 100_000:
                break
            text = now
        return text


def _makes(rule: str, target: str) -> bool:
    return rule == target or ("%" in rule and match_glob(target, rule.replace("%", "*")))
