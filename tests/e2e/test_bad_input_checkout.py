"""Agents that break the checkout's ``.git``, or use it in ways navci must see through."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.attack import Canary
from tests.support.bash_agent import HONEST, WORK, Agent, an_agent, assert_ended
from tests.support.navci_run import journal_state, place_of, run_folders
from tests.support.processes import REPOSITORY
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class Attack:
    """A first turn, after ``work``; whether navci calls it a broken ``.git``, and what it says."""

    name: str
    turn: str
    says: str = ""

    @property
    def guard(self) -> bool:
        return bool(self.says)


VICTIM = 'victim="$PLACE/victim/.git"'
BRANCH = "branch=$(git symbolic-ref HEAD); task=${branch##*/}"
ATTACKS = [
    Attack("deletes it", "rm -rf .git", "`.git` is gone"),
    Attack("makes a new one", "rm -rf .git; git init -q; git add -A; git commit -qm new",
           "files of the commit the run started from are missing"),
    Attack("makes it a file that names another repository",
           f'{VICTIM}; rm -rf .git; echo "gitdir: $victim" > .git', "names another directory"),
    Attack("makes it a link to another repository",
           f'{VICTIM}; rm -rf .git; ln -s "$victim" .git', "was replaced by something else"),
    Attack("moves it away and links to it",
           'mv .git "$PLACE/moved"; ln -s "$PLACE/moved" .git', "was replaced by something else"),
    Attack("makes it an empty file", "rm -rf .git; : > .git", "names another directory"),
    Attack("makes it a link to itself", "rm -rf .git; ln -s .git .git", "was replaced"),
    Attack("empties the object store", "rm -rf .git/objects/*", "missing"),
    Attack("removes the object store", "rm -rf .git/objects", "`objects` is gone"),
    Attack("removes the refs", "rm -rf .git/refs .git/packed-refs", "`refs` is gone"),
    Attack("corrupts HEAD", "echo junk > .git/HEAD", "not a git repository"),
    Attack("corrupts the configuration", "echo '[[[' > .git/config", "bad config line"),
    Attack("makes a ref of junk", "echo junk > .git/refs/heads/main", "is damaged"),
    Attack("puts a pipe in the place of HEAD", "rm .git/HEAD; mkfifo .git/HEAD", "is a pipe"),
    Attack("puts a pipe among the refs", "mkfifo .git/refs/heads/pipe", "is a pipe"),
    Attack("damages a branch of its own",
           "git checkout -q -b mine; echo 1 > lost; git add -A; git commit -qm mine; "
           "o=$(git rev-parse HEAD:lost); rm -f .git/objects/${o:0:2}/${o:2}; git checkout -qf -; "
           "work", "files of refs/heads/mine are missing"),
    Attack("corrupts the index", "echo junk > .git/index"),
    Attack("makes the index a folder", "rm -f .git/index; mkdir -p .git/index/folder"),
    Attack("leaves every lock there is",
           f"{BRANCH}; touch .git/index.lock .git/HEAD.lock .git/config.lock "
           '.git/packed-refs.lock ".git/$branch.lock" ".git/refs/navci/$task/journal.lock"'),
    Attack("leaves folders as locks", "mkdir -p .git/index.lock/x .git/HEAD.lock/y"),
    Attack("puts refs in the way of navci's",
           f'{BRANCH}; git checkout -q --detach; git branch -qD "${{branch#refs/heads/}}"; '
           "rmdir .git/refs/heads/navci; git branch navci; "
           "git update-ref -d refs/navci/$task/journal; git update-ref refs/navci/$task HEAD"),
    Attack("deletes the journal's ref", f"{BRANCH}; git update-ref -d refs/navci/$task/journal"),
    Attack("rewrites the journal's ref", f"{BRANCH}; git update-ref refs/navci/$task/journal HEAD"),
    Attack("throws its history away",
           "git checkout -q --orphan new; git rm -rqf --cached .; git commit -qm orphan "
           "--allow-empty"),
    Attack("expires everything", "git reflog expire --expire=now --all; git gc -q --prune=now"),
    Attack("makes the repository shallow", "git rev-parse HEAD > .git/shallow"),
]  # fmt: skip


def digests(folder: Path) -> Mapping[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_run_survives_an_agent_that(tmp_path: Path, attack: Attack) -> None:
    agent = an_agent(tmp_path, f"work\n{attack.turn}\necho working", HONEST)
    victim = make_repo(place_of(agent.repo) / "victim", {"precious": "precious\n"})
    before = digests(victim)

    result = agent.run(timeout=40)

    assert_ended(result, "complete", 0, "complete")
    assert attack.says in result.said
    assert ("guard:.git" in agent.gaps()) is attack.guard
    assert attack.says in agent.why("guard:.git")
    assert agent.has("work.txt") and agent.has("answer.txt", "42\n")
    assert git(agent.repo, "status", "--porcelain", "--branch") == f"## navci/{agent.task}"
    assert git(agent.repo, "fsck", "--no-dangling", "--no-progress") == ""
    assert journal_state(agent.repo, agent.task)["end"] == "complete"
    assert digests(victim) == before, "another repository was written to"


# --- configuration that names programs ------------------------------------------------------

SETTINGS = {
    "core.hooksPath": "{hooks}",
    "core.fsmonitor": "{canary}",
    "core.worktree": "{victim}",
    "url.ext::{canary} .insteadOf": "/",
    "diff.external": "{canary}",
    "core.pager": "{canary}",
    "core.sshCommand": "{canary}",
    "core.attributesFile": "{attributes}",
    "filter.evil.clean": "{canary}",
    "filter.evil.smudge": "{canary}",
    "filter.evil.process": "{canary}",
}


@pytest.mark.parametrize("key", [*SETTINGS, "everything at once"])
def test_nothing_an_agent_configures_runs_when_navci_uses_git(tmp_path: Path, key: str) -> None:
    canary = Canary(tmp_path / "canary")
    if key in SETTINGS:
        places = {name: str(canary.program(name)) for name in ("canary",)} | {
            "hooks": str(tmp_path / "hooks"),
            "victim": str(tmp_path / "victim"),
            "attributes": str(tmp_path / "attributes"),
        }
        setting = f"'{key.format(**places)}' '{SETTINGS[key].format(**places)}'"
        turn = f"echo '* filter=evil diff=evil' > .gitattributes; git config {setting}"
        make_hooks(tmp_path / "hooks", canary)
        (tmp_path / "attributes").write_text("* filter=evil diff=evil\n")
    else:
        arm = (
            "from pathlib import Path; from tests.support.attack import *; "
            f"arm(Path('.'), Canary(Path('{canary.folder}')))"
        )
        turn = f'PYTHONPATH={REPOSITORY} {sys.executable} -c "{arm}"; rm -f {canary.notes}'
    make_repo(tmp_path / "victim", {"answer.txt": "precious\n"})
    agent = an_agent(tmp_path, f"work\ncp .git/config $PLACE/config\n{turn}\necho armed", HONEST)

    result = agent.run()

    fired = canary.fired()
    disarm(agent)
    assert fired == []
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt") and agent.has("answer.txt", "42\n")
    assert (tmp_path / "victim" / "answer.txt").read_text() == "precious\n"
    assert git(tmp_path / "victim", "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def make_hooks(folder: Path, canary: Canary) -> None:
    folder.mkdir()
    for hook in ("reference-transaction", "post-index-change", "post-checkout", "pre-commit"):
        (folder / hook).symlink_to(canary.program(f"hook-{hook}"))


def disarm(agent: Agent) -> None:
    """The test's own git must not fire anything either."""
    config = place_of(agent.repo) / "config"
    (agent.repo / ".git" / "config").write_bytes(config.read_bytes())
    for name in ("attributes", "exclude"):
        (agent.repo / ".git" / "info" / name).unlink(missing_ok=True)
    for hook in (agent.repo / ".git").glob("hooks/*"):
        hook.unlink()


# --- commits of its own ---------------------------------------------------------------------


def test_a_commit_of_the_agent_is_kept_as_it_is(tmp_path: Path) -> None:
    agent = an_agent(
        tmp_path, "work; git add -A; git commit -qm 'feat: by the agent'; echo", HONEST
    )
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.subjects()[1:] == ["feat: by the agent", "start"]


def test_a_commit_on_a_detached_head_is_kept_as_it_is(tmp_path: Path) -> None:
    turn = "work; git checkout -q --detach; git add -A; git commit -qm detached; echo working"
    agent = an_agent(tmp_path, turn, HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.subjects()[1:] == ["detached", "start"]


@pytest.mark.parametrize(
    "path", [".github/workflows/ci.yml", ".agent/.nav-config.json", ".agent/.context-markers/m.md"]
)
def test_a_commit_that_touches_what_it_may_not_never_reaches_the_branch(
    tmp_path: Path, path: str
) -> None:
    turn = f"work; mkdir -p $(dirname {path}); echo evil > {path}; git add -Af; git commit -qm evil"
    agent = an_agent(tmp_path, f"{turn}; git rm -qf {path}; git commit -qm gone; echo", HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert not agent.ever_had(path, agent.branch)
    assert agent.has("work.txt")
    assert agent.keeps("evil\n"), "it is still reachable from the journal"


def test_base_cannot_be_rewritten_under_navci(tmp_path: Path) -> None:
    """What a protected file is restored from is not what the agent can reach in the checkout."""
    workflow = ".github/workflows/ci.yml"
    turn = f"""
        work; blob=$(git rev-parse HEAD:{workflow}); file=.git/objects/${{blob:0:2}}/${{blob:2}}
        chmod u+w $file
        {sys.executable} -c 'import zlib; print(end="")
        open("'$file'", "r+b").write(zlib.compress(b"blob 5\\0evil\\n"))'
        echo evil > {workflow}; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST, files={workflow: "good\n"})
    blob = git(agent.repo, "rev-parse", f"main:{workflow}")
    assert_ended(agent.run(), "complete", 0, "complete")
    assert f"guard:{workflow}" in agent.gaps()
    assert (agent.repo / workflow).read_text() == "good\n"
    assert git(agent.repo, "rev-parse", f"{agent.branch}:{workflow}") == blob


def test_a_committed_secret_reaches_neither_branch_nor_journal(tmp_path: Path) -> None:
    """The journal is pushed: what it can reach is as public as the branch."""
    turn = "work; echo TOKEN=abc > .env; git add -A; git commit -qm 'with a secret'; echo working"
    agent = an_agent(tmp_path, turn, f"rm .env; {HONEST}")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert agent.gaps() == {"check:tests", "guard:.env"}
    assert "stays out of branch and journal: .env" in result.said
    assert not agent.ever_had(".env")
    assert agent.has("work.txt")


@pytest.mark.parametrize("where", ["on its branch", "on another branch", "in the stash"])
def test_a_secret_that_was_committed_and_taken_back_is_never_pushed(
    tmp_path: Path, where: str
) -> None:
    secret = "work; git add -A; echo TOKEN=abc > .env; git add -A"
    take = {
        "on its branch": f"{secret}; git commit -qm a; git rm -qf .env; git commit -qm b; echo x",
        "on another branch": f"git checkout -qb mine; {secret}; git commit -qm a; "
        "git rm -qf .env; git commit -qm b; git checkout -q -; work; echo x",
        "in the stash": f"{secret}; git stash -q; work; echo x",
    }[where]
    agent = an_agent(tmp_path, take, HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "stays out of branch and journal: .env" in result.said
    assert not agent.ever_had(".env", agent.branch)
    assert not agent.ever_had(".env", agent.journal)
    assert agent.has("work.txt")


def test_work_on_other_branches_and_in_the_stash_is_reachable_from_the_journal(
    tmp_path: Path,
) -> None:
    turn = """
        git checkout -q -b mine; echo mine > mine.txt; git add -A; git commit -qm mine
        git checkout -q -b more; echo more > more.txt; git add -A; git commit -qm more
        git checkout -q mine
        echo stashed > answer.txt; git stash -q
        work; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    journal = agent.subjects(agent.journal)
    assert {"mine", "more"} <= set(journal)
    assert any(subject.startswith("WIP on mine") for subject in journal)
    assert agent.has("work.txt") and agent.has("mine.txt", "mine\n")
    assert git(agent.repo, "symbolic-ref", "HEAD") == agent.branch


def test_sixty_branches_are_all_kept(tmp_path: Path) -> None:
    turn = """
        for n in $(seq 60); do
            git update-ref refs/heads/b$n $(git commit-tree -p HEAD -m branch-$n HEAD^{tree})
        done
        work; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    journal = agent.subjects(agent.journal)
    assert sum(subject.startswith("branch-") for subject in journal) == 60


def test_an_empty_commit_is_no_work(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "git commit -q --allow-empty -m 'all done'; done_")
    result = agent.run("--max-iterations", "2", test="true")
    assert_ended(result, "max_iterations", 10, "loop-aborted")
    assert result.marker
    assert result.marker["indicators"]["code_committed"]["met"] is False
    assert "all done" in agent.subjects()


@pytest.mark.parametrize(
    ("reset", "first"),
    [("git reset -q --hard HEAD~1", "by navci"), ("git reset -q --hard HEAD~2", "older than base")],
    ids=["to base", "to a commit before base"],
)
def test_what_a_reset_threw_away_is_still_in_the_branch(
    tmp_path: Path, reset: str, first: str
) -> None:
    agent = an_agent(tmp_path, "work; echo working", f"{reset}; echo reset", HONEST)
    git(agent.repo, "commit", "-q", "--allow-empty", "-m", "second")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert not agent.has("work.txt")
    assert agent.keeps(WORK)
    assert agent.subjects()[-2:] == ["second", "start"]


def test_a_merge_conflict_is_a_gap_until_it_is_resolved(tmp_path: Path) -> None:
    turn = """
        git checkout -q -b other; echo 1 > answer.txt; git commit -qam other
        git checkout -q -; echo 2 > answer.txt; git commit -qam ours
        work; git merge other; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "guard:answer.txt" in agent.gaps()
    assert "holds conflict markers; resolve them" in agent.why("guard:answer.txt")
    assert "answer.txt holds conflict markers" in agent.prompt(2)
    assert not (agent.repo / ".git" / "MERGE_HEAD").exists()
    assert "other" in agent.subjects(agent.journal)


def test_conflict_markers_never_end_complete(tmp_path: Path) -> None:
    turn = r"printf '42\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n' > answer.txt; done_"
    result = an_agent(tmp_path, turn).run("--max-iterations", "2", test="grep -q 42 answer.txt")
    assert_ended(result, "max_iterations", 10, "loop-aborted")
    assert "guard:answer.txt" in result.outputs["gaps"]


@pytest.mark.parametrize("way", ["rebase", "cherry-pick", "revert", "bisect"])
def test_a_half_done_operation_is_cleared(tmp_path: Path, way: str) -> None:
    start = {
        "rebase": "git rebase other",
        "cherry-pick": "git cherry-pick other",
        "revert": "git revert --no-edit HEAD~1",
        "bisect": "git bisect start; git bisect bad; git bisect good HEAD~2",
    }[way]
    turn = f"""
        git checkout -q -b other; echo 1 > answer.txt; git commit -qam other
        git checkout -q -; echo 2 > answer.txt; git commit -qam two
        echo 3 > answer.txt; git commit -qam three
        work; {start}; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    said = git(agent.repo, "status")
    assert said.startswith(f"On branch navci/{agent.task}\nnothing to commit"), said


@pytest.mark.parametrize("committed", [False, True], ids=["left there", "committed"])
def test_a_repository_in_the_repository_is_no_work(tmp_path: Path, committed: bool) -> None:
    turn = "git init -q sub; cd sub; work; git add -A; git commit -qm sub; cd ..; work"
    more = "; git add -A; git commit -qm nested" if committed else ""
    away = f'mv sub "$PLACE/sub"; {HONEST}'
    agent = an_agent(tmp_path, f"{turn}{more}; echo working", HONEST, away)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "guard:sub" in agent.gaps(2)
    assert "sub is a git repository of its own inside this one" in agent.why("guard:sub")
    assert not agent.ever_had("sub", agent.branch)
    assert agent.has("work.txt")
    assert (place_of(agent.repo) / "sub" / "work.txt").read_text() == WORK


def test_the_whole_repository_gone_is_made_again(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work; echo working", "cd ..; rm -rf repo; echo gone", HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "`.git` is gone" in result.said
    assert agent.keeps(WORK)
    assert agent.has("answer.txt", "42\n")
    assert len(run_folders(agent.repo)) == 1
