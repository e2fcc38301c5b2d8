"""``navci verify``: the checks on a commit in fresh clones, as before a "complete" is accepted.

Nothing of a checkout an agent worked in takes part: no ignored file, no build, no compiled module,
no git configuration. What it needs is the commit, its base, and the settings of that base.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from navci.errors import ConfigError, InfraError
from navci.evidence.bytecode import Bytecode
from navci.evidence.checks import CheckPlace, baseline_must_pass, run_check, to_facts
from navci.evidence.control_files import Rules
from navci.evidence.worktree import Worktree
from navci.judge.gaps import derive, normalise, ordered
from navci.loop.chosen import config_place
from navci.loop.preexisting import forgiven, tolerated, wanted_baseline
from navci.loop.trial import Bench, Trial, try_original
from navci.model import Baseline, CheckResult, CheckSpec
from navci.settings import Settings, load
from navci.system.canonical import digest
from navci.system.checkout import adopt, find_checkout
from navci.system.clock import Clock
from navci.system.git import Git
from navci.system.gitcall import call, environment, failed, write_config
from navci.system.globs import match_glob
from navci.system.neutral import one_line
from navci.system.path_folders import folders_inside, moved_inside
from navci.system.process import StopFlag, scrubbed_env
from navci.system.process import run as run_process
from navci.system.programs import program

_LINES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "HEAD")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it: verified is a commit without ``gaps`` (id to what was seen).

    ``edited`` are test files that base has otherwise, ``doubtful`` their tests that fail as they
    were.
    """

    commit: str
    base: str
    checks: tuple[CheckResult, ...]
    gaps: Mapping[str, str]
    edited: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


def verify_commit(
    directory: Path,
    commit: str,
    options: Mapping[str, object],
    variables: Mapping[str, str],
    clock: Clock,
    stop: StopFlag,
) -> Verdict:
    """Verify ``commit`` of the repository around ``directory``.

    Raises :class:`ConfigError` for what is asked wrongly, and for a set-up that fails.
    """
    with tempfile.TemporaryDirectory(prefix="navci-verify-") as made:
        top = Path(made).resolve()
        source = find_checkout(directory)
        write_config(top / "home")
        git = Git(source.common_dir, source.top, top / "home")
        wanted = git.rev(commit)
        if wanted is None:
            raise ConfigError(f"there is no commit `{one_line(commit, 80)}` in {source.top}")
        base = find_base(git, wanted, str(options.get("base") or ""))
        settings = settings_of(git, base, options)
        if not settings.checks:
            raise ConfigError(
                "there is no check to verify with; give --test-command or --checks, or name them "
                f"in `{settings.config_path}` of {base[:12]}"
            )
        clones = [
            Clone(
                top / name,
                source.common_dir,
                at,
                base,
                settings,
                variables,
                clock,
                stop,
                instead_of=source.top,
            )
            for name, at in (("at-base", base), ("at-commit", wanted))
        ]
        before = clones[0].results()
        baseline = Baseline(
            base,
            clones[0].contract,
            tuple(to_facts(result) for result in before),
            {result.check: baseline_must_pass(result) for result in before},
        )
        return clones[1].verdict(wanted_baseline(baseline, settings), wanted)


def find_base(git: Git, commit: str, given: str) -> str:
    """The base: the one given, or where ``commit`` left the main line. Raises ConfigError."""
    if given:
        found = git.rev(given) or git.rev(f"refs/remotes/origin/{given}")
        if found is None:
            raise ConfigError(f"there is no commit `{one_line(given, 80)}` for --base")
        return found
    for line in _LINES:
        head = git.rev(line)
        answer = git.answer("merge-base", head, commit) if head else None
        if answer and answer.exit_code == 0:
            found = answer.out.decode().strip()
            if found != commit:
                return found
    raise ConfigError(
        f"{commit[:12]} is on the main line itself, so what it is to be compared with is not "
        "known; give --base"
    )


def settings_of(git: Git, base: str, options: Mapping[str, object]) -> Settings:
    """The settings of ``base``; an agent is not needed here. Raises :class:`ConfigError`."""
    path = config_place(options)
    text = git.show(base, path)
    if text is None and options.get("config"):
        raise ConfigError(f"--config: there is no file `{one_line(path, 120)}` in {base[:12]}")
    nobody = {"agent": "nobody", "max_iterations": "1", "agent_command": "", "playbook": ""}
    return load(
        {**{name: value for name, value in options.items() if name != "base"}, **nobody},
        None if text is None else text.decode("utf-8", "replace"),
        in_actions=False,
        config_path=path,
        known_agents=("nobody",),
    )


class Clone:
    """A fresh clone at one commit, set up.

    ``source`` is a git directory; ``env`` is added to what checks see, and ``seconds_left`` bounds
    them. ``bytecode`` is where Python keeps what it compiles for them. ``instead_of`` is the
    checkout whose programs on ``PATH`` are taken from the clone.
    """

    def __init__(
        self,
        top: Path,
        source: Path,
        commit: str,
        base: str,
        settings: Settings,
        variables: Mapping[str, str],
        clock: Clock,
        stop: StopFlag,
        env: Mapping[str, str] | None = None,
        seconds_left: Callable[[], float] = lambda: inf,
        bytecode: Path | None = None,
        instead_of: Path | None = None,
    ) -> None:
        self.seconds_left = seconds_left
        self.top, self.commit, self.settings, self.clock, self.stop = (
            top, commit, settings, clock, stop,
        )  # fmt: skip
        self.env = scrubbed_env(("HOME", *settings.check_env), variables) | dict(env or {})
        self.contract = digest(settings.checks)
        self.place = top / "work"
        self.bytecode = Bytecode(bytecode or top / "bytecode", self.place)
        for folder in (self.place, top / "scratch"):
            folder.mkdir(parents=True)
        write_config(top / "home")
        fetch = ("fetch", "-q", "--no-tags", "--upload-pack=git-upload-pack")
        for args in (
            ("init", "-q", "--template="),
            (*fetch, f"file://{source}", commit, base),
            ("checkout", "-q", "--detach", commit),
        ):
            answer = call(args, env=environment(top / "home"), cwd=self.place)
            if answer.exit_code:
                raise failed(args, answer)
        if instead_of and "PATH" in self.env:
            self.env["PATH"] = moved_inside(self.env["PATH"], instead_of, self.place)
        self.git = adopt(find_checkout(self.place), top)
        self.base = base
        self.worktree = Worktree(self.git, base, top)
        self.directory = self.place / settings.working_directory
        if not self.directory.is_dir():
            raise ConfigError(
                f"the working directory `{settings.working_directory}` is not in {commit[:12]}"
            )
        self.set_up()

    def set_up(self) -> None:
        """Run ``setup-command``; what it makes is no part of the commit."""
        command = self.settings.setup_command
        tree = self.worktree.tree()
        if command:
            finished = run_process(
                [program("bash"), "-eo", "pipefail", "-c", command],
                cwd=self.directory,
                env=self.env,
                output=self.top / "setup.out",
                deadline=min(self.settings.time_budget, self.seconds_left()),
                stop=self.stop,
            )
            if finished.exit_code:
                last = one_line(finished.tail.rstrip().rpartition("\n")[2])
                raise ConfigError(
                    f"setup-command `{one_line(command)}` exited {finished.exit_code} on "
                    f"{self.commit[:12]} ({last}); mend it or remove it"
                )
        self.undo(tree)

    def undo(self, tree: str) -> tuple[str, ...]:
        """Put back what a command changed in ``tree``, and set apart what it made."""
        changes = self.worktree.changed(tree, self.worktree.tree())
        made = {c.path: c.new_blob for c in changes if c.status == "A" and c.new_blob}
        self.worktree.byproducts.update(made)
        touched = tuple(change.path for change in changes if change.path not in made)
        if touched:
            self.worktree.restore(tree, touched)
        return touched

    def check(self, spec: CheckSpec, tree: str, folder: Path) -> CheckResult:
        """One check on the files as they lie here."""
        if self.stop.requested:
            raise InfraError(f"stopped on request ({self.stop.requested})")

        def changed() -> tuple[str, ...]:
            folder = self.settings.working_directory
            inside = "" if folder == "." else f"{folder}/"
            return tuple(
                path
                for path in self.undo(tree)
                if not any(match_glob(path, inside + glob) for glob in spec.may_write)
            )

        place = CheckPlace(
            self.directory,
            self.place,
            self.env | self.bytecode.environment(folder),
            folder,
            self.worktree.tracked(self.commit),
        )
        return run_check(
            spec,
            place,
            contract=self.contract,
            tree=tree,
            commit=self.commit,
            clock=self.clock,
            stop=self.stop,
            changed_files=changed,
            deadline=min(spec.timeout, self.seconds_left()),
        )

    def results(self) -> tuple[CheckResult, ...]:
        """Every check on the commit as it is."""
        tree = self.worktree.tree()
        return tuple(self.check(spec, tree, self.top / "out") for spec in self.settings.checks)

    def verdict(self, baseline: Baseline | None, commit: str) -> Verdict:
        """Whether everything is green, and with the test files as they were at base."""
        results = self.judged_results(baseline)
        gaps = self.gaps(baseline, results)
        if gaps:
            return Verdict(commit, self.base, results, gaps)
        trial = self.trial(baseline)
        gaps = {f"original:{name}": why for name, why in trial.gaps.items()}
        return Verdict(commit, self.base, results, gaps, trial.edited, trial.doubtful)

    def judged_results(self, baseline: Baseline | None) -> tuple[CheckResult, ...]:
        """Every check on the commit as it is, without what was red before and is tolerated."""
        red_before = tolerated(baseline, self.settings)
        return tuple(forgiven(result, red_before) for result in self.results())

    def gaps(self, baseline: Baseline | None, results: Sequence[CheckResult]) -> Mapping[str, str]:
        """What is open in ``results``, and what was seen."""
        red_before = tolerated(baseline, self.settings)
        found = derive(baseline, [to_facts(result) for result in results], tolerated=red_before)
        seen = {f"check:{r.check}": f"{r.why}\n{r.excerpt}".strip() for r in results}
        for result in results:
            red = result.report.red if result.report else {}
            seen.update({f"test:{normalise(test)}": text for test, text in red.items()})
        return {gap: seen.get(gap, "it does not run any more") for gap in ordered(found)}

    def trial(self, baseline: Baseline | None) -> Trial:
        """The original-tests run on the commit."""
        red_before = tolerated(baseline, self.settings)
        inside = self.settings.working_directory
        bench = Bench(
            self.git,
            self.worktree,
            self.git.tree_of(self.base),
            self.settings.checks,
            baseline,
            Rules(
                "" if inside == "." else inside,
                tuple(spec.command for spec in self.settings.checks),
                self.settings.original_tests_globs,
                folders_inside(self.env.get("PATH", ""), self.place, self.directory),
            ),
            self.top / "scratch",
            self.check,
            require=self.settings.original_tests == "require",
            tolerated=red_before,
            stopped=lambda: self.stop.requested is not None,
        )
        return try_original(bench, self.top / "original")
