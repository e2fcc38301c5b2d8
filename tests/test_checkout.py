"""navci.system.checkout, exchange and repair: a checkout whose .git an agent can break."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from navci.errors import ConfigError, InfraError
from navci.evidence.worktree import Worktree
from navci.system.checkout import Checkout, adopt, find_checkout, transport_env
from navci.system.exchange import branches_of, fetch_commits, mirror_ref, publish, refs_before
from navci.system.git import Git, Identity
from navci.system.repair import broken, rebuild
from tests.support.attack import Canary, arm
from tests.support.repos import commit_all, git, make_repo, write_files

WHO = Identity("navci", "navci@example.org")
WHEN = datetime(2026, 11, 30, 22, 15, tzinfo=UTC)
BRANCH = "navci/issue-7"
FILES = {"a.txt": "one\n", "src/b.py": "b\n", ".gitignore": "*.log\n"}


@pytest.fixture(autouse=True)
def _no_git_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


class Run:
    """A checkout, navci's git directory of it, and the measured work tree."""

    def __init__(self, top: Path, run_dir: Path) -> None:
        run_dir.mkdir()
        self.top = top
        self.checkout = find_checkout(top)
        self.git = adopt(self.checkout, run_dir)
        base = self.checkout.head or self.git.empty_tree
        self.worktree = Worktree(self.git, base, run_dir)
        self.known = branches_of(refs_before(self.git))

    def commit(self, message: str = "navci") -> str:
        parents = [self.checkout.head] if self.checkout.head else []
        return self.git.commit_tree(self.worktree.tree(), parents, message, WHO, WHEN)

    def publish(self, commit: str) -> None:
        publish(self.git, self.checkout, BRANCH, commit, self.worktree.index)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(make_repo(tmp_path / "repo", FILES), tmp_path / "run")


def status(top: Path) -> str:
    return git(top, "status", "--porcelain", "--branch")


# --- kinds of checkouts ---------------------------------------------------------------------


def plain(tmp: Path) -> Path:
    return make_repo(tmp / "plain", FILES)


def detached(tmp: Path) -> Path:
    repo = plain(tmp)
    git(repo, "checkout", "-q", "--detach")
    write_files(repo, {"detached": "1"})
    commit_all(repo, "detached")
    return repo


def shallow(tmp: Path) -> Path:
    repo = plain(tmp)
    commit_all(repo, "two")
    git(tmp, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    return tmp / "shallow"


def shallow_detached(tmp: Path) -> Path:
    repo = shallow(tmp)
    git(repo, "checkout", "-q", "--detach")
    write_files(repo, {"detached": "1"})
    commit_all(repo, "detached")
    return repo


def worktree(tmp: Path) -> Path:
    git(plain(tmp), "worktree", "add", "-q", "-b", "other", str(tmp / "linked"))
    return tmp / "linked"


def shallow_worktree(tmp: Path) -> Path:
    git(shallow(tmp), "worktree", "add", "-q", "--detach", str(tmp / "linked"))
    write_files(tmp / "linked", {"linked": "1"})
    commit_all(tmp / "linked", "linked")
    return tmp / "linked"


def submodule(tmp: Path) -> Path:
    parent = make_repo(tmp / "parent", {"p": "1"})
    git(parent, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(plain(tmp)), "s")
    return parent / "s"


def separate(tmp: Path) -> Path:
    repo = plain(tmp)
    git(repo, "init", "-q", f"--separate-git-dir={tmp / 'elsewhere'}")
    return repo


def by_link(tmp: Path) -> Path:
    repo = plain(tmp)
    (repo / ".git").rename(tmp / "real.git")
    (repo / ".git").symlink_to("../real.git")
    return repo


def shared(tmp: Path) -> Path:
    git(tmp, "clone", "-q", "--shared", str(plain(tmp)), "shared")
    return tmp / "shared"


def no_commit(tmp: Path) -> Path:
    return make_repo(tmp / "empty", {})


def sha256(tmp: Path) -> Path:
    git(tmp, "init", "-q", "--object-format=sha256", "sha256")
    write_files(tmp / "sha256", FILES)
    commit_all(tmp / "sha256", "start")
    return tmp / "sha256"


def partial(tmp: Path) -> Path:
    repo = plain(tmp)
    git(repo, "config", "uploadpack.allowFilter", "true")
    write_files(repo, {"a.txt": "two\n"})
    commit_all(repo, "two")
    git(tmp, "clone", "-q", "--filter=blob:none", f"file://{repo}", "partial")
    return tmp / "partial"


def odd_name(tmp: Path) -> Path:
    return make_repo(tmp / 'sp ace "é:\n', FILES)


KINDS = [
    *(plain, detached, shallow, shallow_detached, worktree, shallow_worktree, submodule, separate),
    *(by_link, shared, no_commit, sha256, partial, odd_name),
]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_every_kind_of_checkout_can_be_adopted_measured_and_published(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    top = make(tmp_path)
    run = Run(top, tmp_path / "run")
    if run.checkout.head:
        assert run.git.rev("HEAD") == run.checkout.head == git(top, "rev-parse", "HEAD")
        assert run.worktree.tree() == run.git.tree_of(run.checkout.head)
    write_files(top, {"new.txt": "new\n", "x.log": "ignored by base, where there is one\n"})
    assert broken(run.git, run.checkout) is None
    commit = run.commit()
    assert fetch_commits(run.git, run.checkout, run.known).problem is None
    run.publish(commit)
    mirror_ref(run.git, run.checkout, "refs/navci/issue-7", commit)
    assert status(top) == f"## {BRANCH}"
    assert git(top, "rev-parse", "HEAD", "refs/navci/issue-7").split() == [commit, commit]
    assert git(top, "show", "HEAD:new.txt") == "new"
    write_files(top, {"by_agent": "x"})
    by_agent = commit_all(top, "agent")
    assert fetch_commits(run.git, run.checkout, run.known).head == by_agent


def test_what_is_read_of_a_checkout(tmp_path: Path) -> None:
    repo = plain(tmp_path)
    git(repo, "remote", "add", "mine", "https://example.org/r.git")
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    found = find_checkout(repo / "src")
    assert (found.top, found.git_dir, found.branch) == (repo, repo / ".git", "main")
    assert (found.linked, found.shallow) == (False, False)
    assert found.remote_url == "https://example.org/r.git"
    assert found.identity == Identity("Ada", "ada@example.org")
    git(repo, "remote", "add", "other", "https://example.org/o.git")
    assert find_checkout(repo).remote_url is None
    git(repo, "remote", "add", "origin", "https://example.org/origin.git")
    assert find_checkout(repo).remote_url == "https://example.org/origin.git"


def test_without_configuration_there_is_no_identity_and_no_remote(run: Run) -> None:
    assert run.checkout.identity is None
    assert run.checkout.remote_url is None


def test_linked_worktree_and_empty_repository(tmp_path: Path) -> None:
    found = find_checkout(worktree(tmp_path))
    assert found.linked
    assert found.common_dir == tmp_path / "plain" / ".git"
    empty = find_checkout(no_commit(tmp_path))
    assert (empty.head, empty.branch) == (None, "main")
    assert find_checkout(shallow_detached(tmp_path / "x")).branch is None


def test_core_worktree_does_not_move_the_top(tmp_path: Path) -> None:
    repo = plain(tmp_path)
    git(repo, "config", "core.worktree", str(tmp_path / "home"))
    assert find_checkout(repo).top == repo


def test_repositories_of_another_user_can_be_used(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    repo = plain(tmp_path)
    for path in (repo, *repo.rglob("*")):
        os.lchown(path, 12345, 12345)
    run = Run(repo, tmp_path / "run")
    assert fetch_commits(run.git, run.checkout, run.known).head == run.checkout.head


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (".", r"not a git repository: .*; run `git init`"),
        ("bare", r"bare repository.*clone it"),
        ("bare/refs", r"bare repository"),
        ("garbage", r"names no git directory"),
        ("broken", r"cannot be read"),
        ("sparse", r"git sparse-checkout disable"),
    ],
)
def test_what_is_no_checkout_is_refused(tmp_path: Path, where: str, says: str) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(plain(tmp_path)), "bare")
    write_files(tmp_path, {"garbage/.git": "gitdir: nowhere"})
    write_files(make_repo(tmp_path / "broken", FILES), {".git/HEAD": "garbage"})
    git(make_repo(tmp_path / "sparse", FILES), "sparse-checkout", "set", "src")
    with pytest.raises(ConfigError, match=says):
        find_checkout(tmp_path / where)


def test_transport_takes_programs_only_from_outside_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = plain(tmp_path)
    write_files(tmp_path / "home", {".gitconfig": "[credential]\n\thelper = mine\n"})
    git(repo, "config", "credential.helper", "evil")
    git(repo, "config", "core.sshCommand", "evil")
    git(repo, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic x")
    checkout = find_checkout(repo)
    assert dict(checkout.transport) == {
        "credential.helper": "mine",
        "http.https://github.com/.extraheader": "AUTHORIZATION: basic x",
    }
    assert "basic x" not in repr(checkout)
    monkeypatch.setenv("HOME", "/home/ada")
    env = transport_env(checkout)
    assert (env["HOME"], env["GIT_CONFIG_COUNT"]) == ("/home/ada", "2")


def test_the_own_directory_has_no_remote_no_hook_and_no_hard_links(run: Run) -> None:
    config = (run.git.git_dir / "config").read_text()
    assert "remote" not in config
    assert not (run.git.git_dir / "hooks").exists()
    objects = [p for p in (run.git.git_dir / "objects").rglob("*") if p.is_file()]
    assert objects and all(p.stat().st_nlink == 1 for p in objects)


def test_links_inside_the_object_store_are_no_obstacle(tmp_path: Path) -> None:
    repo = plain(tmp_path)
    (repo / ".git/objects/pack").rmdir()
    (tmp_path / "packs").mkdir()
    (repo / ".git/objects/pack").symlink_to(tmp_path / "packs")
    assert Run(repo, tmp_path / "run").git.rev("HEAD") == git(repo, "rev-parse", "HEAD")


# --- nothing of the repository's configuration runs -----------------------------------------


def use_everything(run: Run) -> None:
    top = run.top
    write_files(top, {"a.txt": "changed\n", "new.py": "new\n"})
    tree = run.worktree.tree()
    assert {c.path for c in run.worktree.changed(run.git.tree_of("HEAD"), tree)} >= {"new.py"}
    fetched = fetch_commits(run.git, run.checkout, run.known)
    assert fetched.problem is None
    commit = run.commit()
    run.publish(commit)
    mirror_ref(run.git, run.checkout, "refs/navci/issue-7", commit)
    run.worktree.restore(run.git.tree_of("HEAD"), ["a.txt", "new.py"])
    run.worktree.checkout_tree(tree)
    assert broken(run.git, run.checkout) is None
    rebuild(run.git, run.checkout)
    (top / ".git" / "HEAD").write_text("garbage")
    rebuild(run.git, run.checkout)


def test_a_hostile_repository_runs_nothing_when_it_turns_hostile(tmp_path: Path, run: Run) -> None:
    canary = Canary(tmp_path / "canary")
    nested = make_repo(run.top / "nested", {"n": "1"})
    arm(nested, canary)
    arm(run.top, canary)
    use_everything(run)
    assert canary.fired() == []
    assert (canary.folder / "victim" / "precious").read_text() == "precious\n"


def test_a_hostile_repository_runs_nothing_from_the_start(tmp_path: Path) -> None:
    canary = Canary(tmp_path / "canary")
    repo = make_repo(tmp_path / "repo", FILES)
    arm(repo, canary)
    use_everything(Run(repo, tmp_path / "run"))
    assert canary.fired() == []


def test_the_canaries_sing(tmp_path: Path) -> None:
    """The attack is real: what a user's own git does there fires."""
    canary = Canary(tmp_path / "canary")
    repo = make_repo(tmp_path / "repo", FILES)
    arm(repo, canary)
    git(repo, "--work-tree=.", "add", "-f", "a.txt", check=False)
    git(repo, "update-ref", "refs/heads/x", "HEAD")
    assert any(name.startswith("filter-evil") for name in canary.fired())
    assert {"core-fsmonitor", "hook-reference-transaction"} <= set(canary.fired())


def test_a_missing_commit_is_not_fetched_from_where_the_repository_says(
    tmp_path: Path, run: Run
) -> None:
    canary = Canary(tmp_path / "canary")
    arm(run.top, canary)
    (run.top / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    assert fetch_commits(run.git, run.checkout, run.known).problem is not None
    broken(run.git, run.checkout)
    assert canary.fired() == []


# --- fetching -------------------------------------------------------------------------------


def test_fetch_reports_head_and_branches_that_moved(run: Run) -> None:
    top = run.top
    start = fetch_commits(run.git, run.checkout, run.known)
    assert (start.head, start.others, start.problem) == (run.checkout.head, (), None)
    write_files(top, {"by_agent": "1"})
    first = commit_all(top, "agent")
    git(top, "branch", "side")
    git(top, "checkout", "-q", "-b", "more")
    write_files(top, {"by_agent": "2"})
    second = commit_all(top, "more")
    fetched = fetch_commits(run.git, run.checkout, run.known)
    assert (fetched.head, fetched.others) == (second, (first,))
    assert run.git.is_ancestor(first, second)
    assert fetched.heads["refs/heads/more"] == second

    git(top, "reset", "-q", "--hard", "main~1")
    again = fetch_commits(run.git, run.checkout, fetched.heads)
    assert (again.head, again.others) == (run.checkout.head, ())
    run.git.run("gc", "--quiet", "--prune=now")
    assert run.git.rev(second) == second, "what an agent once committed stays reachable"


def test_fetch_of_an_orphan_branch_has_no_head(run: Run) -> None:
    git(run.top, "checkout", "-q", "--orphan", "fresh")
    fetched = fetch_commits(run.git, run.checkout, run.known)
    assert (fetched.head, fetched.problem) == (None, None)


def test_many_commits_come_as_one_pack(run: Run) -> None:
    write_files(run.top, {f"many/{number}": str(number) for number in range(300)})
    head = commit_all(run.top, "many")
    assert fetch_commits(run.git, run.checkout, run.known).head == head
    assert list((run.git.git_dir / "objects" / "pack").glob("*.pack"))
    assert run.git.show(head, "many/299") == b"299"


def test_objects_under_a_wrong_name_are_refused(run: Run) -> None:
    """An agent's commit that names base's file, with another content put under its name."""
    top = run.top
    write_files(top, {"evil": "evil\n"})
    evil, good = git(top, "hash-object", "-w", "evil"), git(top, "hash-object", "--stdin")
    write_files(top, {"empty": ""})
    commit_all(top, "agent")
    objects = top / ".git" / "objects"
    forged = objects / good[:2] / good[2:]
    forged.chmod(0o644)
    shutil.copyfile(objects / evil[:2] / evil[2:], forged)
    assert fetch_commits(run.git, run.checkout, run.known).problem is not None
    assert run.git.answer("cat-file", "-e", good).exit_code != 0


# --- publishing -----------------------------------------------------------------------------


def test_publish_leaves_untracked_work_untracked(run: Run) -> None:
    write_files(run.top, {"a.txt": "changed\n", "mine.txt": "mine\n", "secret": "s\n"})
    commit = run.git.commit_tree(
        run.worktree.tree(leave_out=["mine.txt", "secret"]),
        [run.checkout.head or ""],
        "x",
        WHO,
        WHEN,
    )
    run.publish(commit)
    assert status(run.top).splitlines() == [f"## {BRANCH}", "?? mine.txt", "?? secret"]


def test_publish_clears_what_stands_in_the_way(run: Run) -> None:
    top = run.top
    git(top, "checkout", "-q", "-b", "side")
    write_files(top, {"a.txt": "side\n"})
    commit_all(top, "side")
    git(top, "checkout", "-q", "main")
    write_files(top, {"a.txt": "main\n"})
    commit_all(top, "main")
    git(top, "merge", "side", check=False)
    assert "UU a.txt" in status(top)
    (top / ".git" / "rebase-merge").mkdir()
    for lock in ("index.lock", "HEAD.lock", f"refs/heads/{BRANCH}.lock", "packed-refs.lock"):
        write_files(top / ".git", {lock: ""})
    run.publish(run.commit())
    assert status(top) == f"## {BRANCH}"
    assert not list((top / ".git").rglob("*.lock"))
    assert "merging" not in git(top, "status").lower()


def test_publish_does_not_move_a_branch_through_a_symbolic_ref(run: Run) -> None:
    main = git(run.top, "rev-parse", "main")
    git(run.top, "symbolic-ref", f"refs/heads/{BRANCH}", "refs/heads/main")
    commit = run.commit()
    run.publish(commit)
    assert git(run.top, "rev-parse", "main", BRANCH).split() == [main, commit]


@pytest.mark.parametrize("what", ["folder", "garbage", "gone", "fifo", "link"])
def test_publish_replaces_any_index(run: Run, tmp_path: Path, what: str) -> None:
    index = run.top / ".git" / "index"
    victim = tmp_path / "victim"
    victim.write_text("precious")
    index.unlink()
    match what:
        case "folder":
            write_files(index, {"x": "y"})
        case "garbage":
            index.write_bytes(b"DIRC garbage")
        case "fifo":
            os.mkfifo(index)
        case "link":
            index.symlink_to(victim)
    write_files(run.top, {"new": "new"})
    run.publish(run.commit())
    assert status(run.top) == f"## {BRANCH}"
    assert victim.read_text() == "precious"


def test_an_index_that_is_published_hides_no_later_change(run: Run) -> None:
    """The same size, in the same second: only the index's own time tells git to look."""
    write_files(run.top, {"a.txt": "AAA\n"})
    commit = run.commit()
    write_files(run.top, {"a.txt": "BBB\n"})
    run.publish(commit)
    assert " M a.txt" in status(run.top)


def test_publish_brings_back_objects_the_agent_removed(run: Run) -> None:
    commit = run.commit()
    shutil.rmtree(run.top / ".git" / "objects")
    (run.top / ".git" / "objects").mkdir()
    run.publish(commit)
    assert git(run.top, "fsck", "--connectivity-only", commit) is not None
    assert git(run.top, "show", f"{commit}:a.txt") == "one"


def test_a_branch_that_got_in_the_way_makes_room_and_keeps_its_commits(run: Run) -> None:
    git(run.top, "commit", "-q", "--allow-empty", "-m", "theirs")
    theirs = git(run.top, "rev-parse", "HEAD")
    git(run.top, "branch", "navci")
    git(run.top, "reset", "-q", "--hard", "HEAD~1")
    run.publish(run.commit())
    assert status(run.top).splitlines()[0] == f"## {BRANCH}"
    assert theirs in git(run.top, "for-each-ref", "--format=%(objectname)").split()


def test_a_branch_of_the_user_in_the_way_is_said(run: Run) -> None:
    git(run.top, "branch", "navci")
    later = Run(run.top, run.top.with_name("run2"))
    with pytest.raises(InfraError, match="refs/heads/navci stands in the way of"):
        later.publish(later.commit())
    assert git(run.top, "rev-parse", "navci") == run.checkout.head


def test_a_lock_somebody_left_on_the_journals_ref_is_removed(run: Run) -> None:
    commit, ref = run.commit(), "refs/navci/issue-7"
    write_files(run.top, {f".git/{ref}.lock": "", ".git/packed-refs.lock": ""})
    mirror_ref(run.git, run.checkout, ref, commit)
    assert git(run.top, "rev-parse", ref) == commit


# --- breaking and rebuilding ----------------------------------------------------------------


def remove(top: Path) -> None:
    shutil.rmtree(top / ".git")


def replace_by_file(top: Path) -> None:
    remove(top)
    (top / ".git").write_text("gitdir: /tmp")


def replace_by_link(top: Path) -> None:
    (top / ".git").rename(top / "moved")
    (top / ".git").symlink_to("moved")


def replace_by_new(top: Path) -> None:
    remove(top)
    git(top, "init", "-q")


def garbage_head(top: Path) -> None:
    (top / ".git" / "HEAD").write_text("garbage")


def garbage_config(top: Path) -> None:
    (top / ".git" / "config").write_text("[[[garbage")


def garbage_ref(top: Path) -> None:
    (top / ".git" / "refs" / "heads" / "main").write_text("garbage")


def missing_objects(top: Path) -> None:
    blob = git(top, "rev-parse", "HEAD:a.txt")
    (top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


def no_object_store(top: Path) -> None:
    shutil.rmtree(top / ".git" / "objects")


def no_refs(top: Path) -> None:
    shutil.rmtree(top / ".git" / "refs")


def only_a_fifo(top: Path) -> None:
    (top / ".git" / "HEAD").unlink()
    os.mkfifo(top / ".git" / "HEAD")


BREAKS = [
    *(remove, replace_by_file, replace_by_link, replace_by_new, garbage_head, garbage_config),
    *(garbage_ref, missing_objects, no_object_store, no_refs, only_a_fifo),
]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda break_it: break_it.__name__)
def test_a_broken_git_is_noticed_and_rebuilt(
    run: Run, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[Path], None]
) -> None:
    monkeypatch.setattr("navci.system.exchange._PATIENCE", 0.5)
    top = run.top
    git(top, "config", "user.name", "Ada")
    git(top, "tag", "v1")
    run = Run(top, top.with_name("run2"))
    assert broken(run.git, run.checkout) is None
    write_files(top, {"new": "new\n"})
    break_it(top)
    assert broken(run.git, run.checkout)
    fetched = fetch_commits(run.git, run.checkout, run.known)
    assert fetched.problem or fetched.head in (None, run.checkout.head)
    aside = rebuild(run.git, run.checkout)
    assert aside is None or any(aside.iterdir())
    assert broken(run.git, run.checkout) is None
    run.publish(run.commit())
    assert status(top).splitlines()[0] == f"## {BRANCH}"
    assert set(status(top).splitlines()[1:]) <= {"?? moved/"}
    assert git(top, "config", "user.name") == "Ada"
    assert git(top, "rev-parse", "v1", "main").split() == [run.checkout.head] * 2
    assert git(top, "fsck", "--strict", "--no-dangling") == ""
    assert stat.S_IMODE((top / ".git").stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["config", "HEAD", "packed-refs", "refs/heads/x", "info/exclude"])
def test_a_pipe_in_place_of_a_file_blocks_nothing(run: Run, name: str) -> None:
    target = run.top / ".git" / name
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    os.mkfifo(target)
    assert "is a pipe" in str(broken(run.git, run.checkout))
    rebuild(run.git, run.checkout)
    assert broken(run.git, run.checkout) is None
    run.publish(run.commit())
    assert git(run.top, "fsck", "--no-dangling") == ""


def test_one_damaged_branch_keeps_no_other_back(run: Run) -> None:
    git(run.top, "checkout", "-q", "-b", "damaged")
    write_files(run.top, {"lost": "lost\n"})
    commit_all(run.top, "damaged")
    blob = git(run.top, "rev-parse", "HEAD:lost")
    git(run.top, "checkout", "-q", "-b", "whole", "main")
    write_files(run.top, {"whole": "whole\n"})
    whole = commit_all(run.top, "whole")
    git(run.top, "checkout", "-q", "main")
    (run.top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    fetched = fetch_commits(run.git, run.checkout, run.known)
    assert fetched.problem == "files of refs/heads/damaged are missing in it"
    assert (fetched.head, fetched.others) == (run.checkout.head, (whole,))
    rebuild(run.git, run.checkout)  # nothing seems broken, and yet
    assert fetch_commits(run.git, run.checkout, run.known).problem is None
    assert git(run.top, "fsck", "--no-dangling") == ""


def test_the_stash_is_fetched(run: Run) -> None:
    write_files(run.top, {"a.txt": "stashed\n"})
    git(run.top, "stash")
    stash = git(run.top, "rev-parse", "refs/stash")
    assert fetch_commits(run.git, run.checkout, run.known).others == (stash,)
    assert run.git.show(stash, "a.txt") == b"stashed\n"


def test_a_config_that_is_mended_keeps_what_the_agent_committed(run: Run) -> None:
    write_files(run.top, {"by_agent": "1"})
    head = commit_all(run.top, "agent")
    garbage_config(run.top)
    assert fetch_commits(run.git, run.checkout, run.known).problem
    assert rebuild(run.git, run.checkout) is None
    assert fetch_commits(run.git, run.checkout, run.known).head == head


@pytest.mark.parametrize("gone", ["file", "admin", "both", "repository"])
def test_a_linked_worktree_is_rebuilt(tmp_path: Path, gone: str) -> None:
    run = Run(worktree(tmp_path), tmp_path / "run")
    if gone in ("file", "both"):
        (run.top / ".git").unlink()
    if gone in ("admin", "both"):
        shutil.rmtree(run.checkout.git_dir)
    if gone == "repository":
        shutil.rmtree(run.checkout.common_dir)
    assert broken(run.git, run.checkout)
    rebuild(run.git, run.checkout)
    run.publish(run.commit())
    assert status(run.top) == f"## {BRANCH}"
    assert git(run.checkout.common_dir.parent, "rev-parse", "main") == run.checkout.head


@pytest.mark.parametrize("make", [separate, by_link, submodule], ids=lambda make: make.__name__)
def test_a_git_directory_elsewhere_is_rebuilt(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    run = Run(make(tmp_path), tmp_path / "run")
    (run.top / ".git").unlink()
    shutil.rmtree(run.checkout.git_dir)
    assert broken(run.git, run.checkout) == "`.git` is gone"
    rebuild(run.git, run.checkout)
    run.publish(run.commit())
    assert status(run.top) == f"## {BRANCH}"


def test_other_worktrees_and_submodules_survive_a_rebuild(tmp_path: Path) -> None:
    linked = worktree(tmp_path)
    run = Run(tmp_path / "plain", tmp_path / "run")
    no_object_store(run.top)
    rebuild(run.git, run.checkout)
    assert git(linked, "status", "--porcelain", "--branch") == "## other"


def test_a_dataclass_for_people_keeps_file_contents_out(run: Run) -> None:
    assert isinstance(run.checkout, Checkout)
    assert isinstance(run.git, Git)
    assert "repositoryformatversion" not in repr(run.checkout)
