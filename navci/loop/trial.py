"""The original-tests run itself: the work with the files that control testing as at base.

DESIGN §5, Trust. Three states of those files are tried, each only where the one before leaves
something open:

- *as at base*: all of them restored, and absent where base has none;
- *without the edited tests*: test modules that were edited are absent, so that one that no longer
  loads cannot stop the others; what tests compare with stays as it is now;
- *with the tests as they are now*: for checks without reports, of which nobody can tell which
  test is red: only runner, start-up files and support code go back.

In the last two, support code imports modules of the product from where they were moved to since.
With ``require`` the first state decides alone where tests of base were edited.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from navci.evidence.checks import to_facts
from navci.evidence.command_files import inside
from navci.evidence.control_files import Control, Kind, Rules, at_base, differing, kind_of
from navci.evidence.followed import follow_imports
from navci.evidence.second_hand import module_files
from navci.evidence.test_owners import Owners, in_edited
from navci.evidence.worktree import Worktree
from navci.judge.gaps import derive, normalise
from navci.model import Baseline, CheckResult, CheckSpec
from navci.system.git import Git
from navci.system.neutral import show_path
from navci.system.trees import Entry, entries, put

_SHOWN = 5
Files = Mapping[str, Entry | None]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and against what it is run. ``base`` is a tree.

    ``baseline`` is without the tests that may vanish; tests in ``tolerated`` may be red.
    ``check`` runs a check on the work tree, which is then the tree it is told, and keeps its
    output in the folder; ``stopped`` says that a person asked to stop.
    """

    git: Git
    worktree: Worktree
    base: str
    specs: tuple[CheckSpec, ...]
    baseline: Baseline | None
    rules: Rules
    scratch: Path
    check: Callable[[CheckSpec, str, Path], CheckResult]
    require: bool = False
    tolerated: frozenset[str] = frozenset()
    stopped: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. ``gaps`` maps what is green only thanks to control files to what was seen.

    ``controls`` are those that differ from base; ``doubtful`` tests of files the agent edited that
    fail with those as they were.
    """

    gaps: Mapping[str, str] = field(default_factory=dict)
    controls: tuple[Control, ...] = ()
    doubtful: tuple[str, ...] = ()

    @property
    def edited(self) -> tuple[str, ...]:
        """The files of tests that were there at base and are not as they were."""
        return tuple(control.path for control in self.controls if control.edited)


def try_original(bench: Bench, folder: Path) -> Trial:
    """Run it; afterwards every file is as it was, whatever happened.

    Raises :class:`navci.errors.InfraError` when the tree cannot be measured or put back.
    """
    worktree = bench.worktree
    kept = dict(worktree.byproducts)
    tree = worktree.tree()
    # A by-product is no part of the work, but it can control testing like any other file.
    worktree.byproducts.clear()
    whole = worktree.tree()
    worktree.byproducts.update(kept)
    files = entries(bench.git, bench.base)
    rules = at_base(bench.rules, files, lambda blob: bench.git.run("cat-file", "blob", blob))
    bench = replace(bench, rules=rules)
    controls = differing_controls(bench, whole)
    if all(control.stays for control in controls):
        return Trial({}, controls)
    try:
        for control in controls:
            if not control.stays:
                worktree.byproducts.pop(control.path, None)
        return _Attempt(bench, tree, controls, folder, files).judged()
    finally:
        worktree.byproducts.clear()
        now = worktree.tree()
        worktree.restore(whole, [change.path for change in worktree.changed(whole, now)])
        worktree.byproducts.update(kept)


def differing_controls(bench: Bench, tree: str) -> tuple[Control, ...]:
    """The files that control testing and that ``tree`` does not have as base has them."""
    changed = (
        (
            change.path,
            Entry(change.old_mode, change.old_blob) if change.old_blob else None,
            Entry(change.new_mode, change.new_blob) if change.new_blob else None,
        )
        for change in bench.worktree.changed(bench.base, tree)
    )
    return differing(changed, bench.rules, lambda blob: bench.git.run("cat-file", "blob", blob))


class _Attempt:
    def __init__(
        self,
        bench: Bench,
        tree: str,
        controls: tuple[Control, ...],
        folder: Path,
        files: Mapping[str, Entry],
    ) -> None:
        self.bench, self.tree, self.folder, self.files = bench, tree, folder, files
        self.all_controls = controls
        self.controls = tuple(control for control in controls if not control.stays)
        kinds = {path: kind_of(path, bench.rules, new=False) for path in files}
        self.has_tests = Kind.TEST in kinds.values()
        holding = (path for path, kind in kinds.items() if kind in (Kind.TEST, Kind.SUPPORT))
        self.owners = Owners(holding, bench.rules.folder)
        self.edited = {
            control.path: self._text(control.before)
            for control in controls
            if control.kind is Kind.TEST and control.before is not None
        }
        self.seen: dict[str, str] = {}
        self.unloaded: set[str] = set()

    def judged(self) -> Trial:
        bench = self.bench
        as_at_base = {control.path: control.before for control in self.controls}
        first = self._failing(bench.specs, as_at_base, "as-at-base")
        ours = {check: self._unedited(names) for check, names in first.items()}
        suspects = {check: names for check, names in ours.items() if names}
        doubtful = sorted({n for names in first.values() for n in names if self._in_edited(n)})
        wanting = set(doubtful) if bench.require else set()
        if bench.require and any(control.edited for control in self.controls):
            wanting |= self._loading({name for names in first.values() for name in names})
            suspects = {}
        for states, which in (
            (self._without_edited, "without-edited"),
            (self._with_tests, "with-tests"),
        ):
            specs = [
                spec
                for spec in bench.specs
                if spec.id in suspects and bool(spec.junit) is (which == "without-edited")
            ]
            if not specs or bench.stopped():
                continue
            self.unloaded.clear()
            again = self._failing(specs, states(as_at_base), which)
            for check, names in again.items():
                wanting |= self._loading(self._both(suspects[check], self._unedited(names)))
        gaps = {name: self._told(name) for name in sorted(wanting)}
        return Trial(gaps, self.all_controls, tuple(doubtful))

    # --- states of the control files --------------------------------------------------------

    def _without_edited(self, as_at_base: Files) -> Files:
        now = {c.path: c.now for c in self.controls if c.kind is Kind.DATA}
        # A runner that is given a file by name refuses to run without it.
        named = {
            c.path: Entry(c.before.mode, self._blob(""))
            for c in self.controls
            if c.path in self.edited and c.before and c.path in self.bench.rules.reached.tests
        }
        gone = {**dict.fromkeys(self.edited), **named}
        return {**as_at_base, **gone, **now, **self._followed()}

    def _with_tests(self, as_at_base: Files) -> Files:
        """Where base has no test at all, what was added to run the first ones stays as well."""
        kinds = {Kind.TEST, Kind.DATA}
        if not self.has_tests:
            kinds |= {Kind.SUPPORT, Kind.RUNNER}
        stay = {
            c.path: c.now
            for c in self.controls
            if c.kind in kinds and (c.kind in (Kind.TEST, Kind.DATA) or c.before is None)
        }
        return {**as_at_base, **self._followed(), **stay}

    def _followed(self) -> dict[str, Entry]:
        """Edited support code as at base, but for imports of what the product moved elsewhere."""
        now = entries(self.bench.git, self.tree)

        def product(path: str) -> bool:
            return kind_of(path, self.bench.rules, new=False) is None

        found = {}
        for control in self.controls:
            before, after = control.before, control.now
            if control.kind is not Kind.SUPPORT or not control.path.endswith(".py"):
                continue
            if before is None or after is None:
                continue
            folder = str(PurePosixPath(control.path).parent)

            def moved(name: str, folder: str = folder) -> bool:
                bare = name.lstrip(".")
                up = inside(folder, "../" * (len(name) - len(bare) - 1)) or ""
                folders = (self.bench.rules.folder, "", folder) if bare == name else (up,)
                paths = [str(PurePosixPath(path)) for path in module_files(bare, folders)]
                there = [path for path in paths if path in self.files]
                gone = not any(path in now for path in paths)
                return bool(there) and gone and all(product(path) for path in there)

            text = follow_imports(self._text(before), self._text(after), moved)
            if text is not None:
                found[control.path] = Entry(before.mode, self._blob(text))
        return found

    def _failing(
        self, specs: Iterable[CheckSpec], files: Files, which: str
    ) -> dict[str, frozenset[str]]:
        """By check, what is not as it must be with ``files`` laid out."""
        bench = self.bench
        layered = put(bench.git, self.tree, files, bench.scratch)
        bench.worktree.restore(layered, list(files))
        found = {}
        for spec in specs:
            if bench.stopped():
                break
            result = bench.check(spec, layered, self.folder / which)
            found[spec.id] = self._of_result(spec, result)
        return found

    # --- what a result says -----------------------------------------------------------------

    def _of_result(self, spec: CheckSpec, result: CheckResult) -> frozenset[str]:
        """The names of what fails or is missing; a whole check where tests cannot be told."""
        whole = f"check:{spec.id}"
        if result.report is not None:
            red = result.report.red
            self.seen.update({normalise(test): text for test, text in red.items()})
        if not spec.junit or result.blind:
            self.seen[whole] = f"{result.why}\n{result.excerpt}".strip()
        if not spec.junit:
            return frozenset() if result.passed else frozenset({whole})
        must_pass, loads = self._known(spec.id)
        if result.blind:
            # With nothing to read, only tests that were known at base can be missing.
            return frozenset({whole}) if self._unedited(must_pass | loads) else frozenset()
        self.unloaded |= {normalise(module) for module in to_facts(result).unloaded}
        baseline = self.bench.baseline
        known = replace(baseline, checks=(), must_pass={spec.id: must_pass}) if baseline else None
        gaps = derive(known, [to_facts(result)], tolerated=self.bench.tolerated)
        tests = (gap for gap in gaps.chk if gap.startswith("test:"))
        return frozenset(gap.removeprefix("test:") for gap in tests)

    def _known(self, check: str) -> tuple[frozenset[str], frozenset[str]]:
        """Of the baseline: the tests that must pass, and the modules that did not load."""
        baseline = self.bench.baseline
        if baseline is None:
            return frozenset(), frozenset()
        unloaded = (facts.unloaded for facts in baseline.checks if facts.check == check)
        must_pass = baseline.must_pass.get(check, frozenset()) - self.bench.tolerated
        return must_pass, frozenset().union(*unloaded)

    def _unedited(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(name for name in names if not self._in_edited(name))

    def _in_edited(self, name: str) -> bool:
        return not name.startswith("check:") and in_edited(name, self.owners, self.edited)

    def _both(self, first: frozenset[str], second: frozenset[str]) -> set[str]:
        """What failed both times. A module may stand for its tests in either, and so may a check
        that says nothing of tests: then the other time tells which they are."""
        if any(name.startswith("check:") for name in first):
            return set(second)
        if any(name.startswith("check:") for name in second):
            return set(first)
        files: set[str] = set().union(*(self.owners.of(name) for name in first))
        return {
            name
            for name in second
            if name in first or not files.isdisjoint(self.owners.of(name))
        }  # fmt: skip

    def _loading(self, names: set[str]) -> set[str]:
        """``names`` without tests that did not run because a module did not load, and it did stop
        the runner: that module is named, and what was seen to fail."""
        if not names & self.unloaded:
            return names
        return {name for name in names if name in self.unloaded or name in self.seen}

    def _told(self, name: str) -> str:
        globs = [
            *self.bench.rules.globs,
            *(f"!{_literally(c.path)}" for c in self.controls[:_SHOWN]),
        ]
        allow = json.dumps({"navci": {"original_tests_globs": globs}})
        by = ", ".join(show_path(control.path) for control in self.controls[:_SHOWN])
        rest = len(self.controls) - _SHOWN
        by += f" and {rest} more" if rest > 0 else ""
        seen = self.seen.get(name) or "it does not run"
        return (
            f"with the test files as they were at base ({by} put back or taken away); mend it, or "
            f"have a person allow the change with {allow} in the settings file of the base:\n{seen}"
        )

    def _blob(self, text: str) -> str:
        out = self.bench.git.run("hash-object", "-w", "--stdin", stdin=text.encode())
        return out.decode().strip()

    def _text(self, entry: Entry) -> str:
        return self.bench.git.run("cat-file", "blob", entry.blob).decode("utf-8", "replace")


def _literally(path: str) -> str:
    """``path`` as a glob that matches only itself."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in show_path(path))
