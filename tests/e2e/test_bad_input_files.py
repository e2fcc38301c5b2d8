"""Agents that leave files nobody should have to meet, and those that touch what they may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.bash_agent import FILES, HONEST, WORK, an_agent, assert_ended
from tests.support.navci_run import (
    MARKERS,
    is_reachable,
    place_of,
    processes_left,
    run_folders,
)
from tests.support.processes import ANYBODY, can, wait_until
from tests.support.repos import git, write_files

pytestmark = pytest.mark.e2e

WORKFLOW = ".github/workflows/ci.yml"
CONFIG = ".agent/.nav-config.json"
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA" * 8 + "\n"


# --- protected files ------------------------------------------------------------------------


@pytest.mark.parametrize("path", [WORKFLOW, CONFIG])
@pytest.mark.parametrize(
    "change",
    ["echo '{{}}' > {path}", "rm {path}", "rm {path}; ln -s /etc/hostname {path}",
     "rm {path}; mkdir {path}; echo x > {path}/x"],
    ids=["edits", "deletes", "links", "makes a folder of"],
)  # fmt: skip
def test_a_protected_file_is_put_back_and_the_run_goes_on(
    tmp_path: Path, path: str, change: str
) -> None:
    settings = json.dumps({"loop_mode": {"max_iterations": 4}})
    agent = an_agent(
        tmp_path,
        f"work; {change.format(path=path)}; echo working",
        HONEST,
        files={WORKFLOW: "on: push\n", CONFIG: settings},
    )
    before = git(agent.repo, "rev-parse", f"main:{path}")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert any(gap.startswith(f"guard:{path}") for gap in agent.gaps())
    assert "is protected; the agent's change was undone" in agent.why(f"guard:{path}")
    assert git(agent.repo, "rev-parse", f"{agent.branch}:{path}") == before
    assert (agent.repo / path).is_file() and not (agent.repo / path).is_symlink()
    (diff,) = run_folders(agent.repo)[0].glob("transcripts/01-001/voided.diff")
    assert path in diff.read_text()
    assert agent.has("work.txt")


def test_a_new_protected_file_is_taken_away_again(tmp_path: Path) -> None:
    turn = f"work; mkdir -p .github/workflows; echo evil > {WORKFLOW}; echo working"
    agent = an_agent(tmp_path, turn, HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.gaps() == {"check:tests", f"guard:{WORKFLOW}"}
    assert not (agent.repo / WORKFLOW).exists()
    assert not agent.ever_had(WORKFLOW)


def test_an_agent_that_insists_never_completes(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f"mkdir -p .github/workflows; echo evil > {WORKFLOW}; {HONEST}")
    result = agent.run("--max-iterations", "2")
    assert_ended(result, "max_iterations", 10, "loop-aborted")
    assert json.loads(result.outputs["gaps"]) == [f"guard:{WORKFLOW}"]


# --- secrets --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "content", "why"),
    [
        (".env", "TOKEN=abc\n", "`.env` is a name for secrets"),
        ("deploy/notes.txt", KEY, "line 1 holds what looks like a private key"),
        ("id_ed25519", "key\n", "`id_ed25519` is a name for secrets"),
    ],
)
def test_a_secret_stays_in_the_tree_and_out_of_every_commit(
    tmp_path: Path, path: str, content: str, why: str
) -> None:
    (source := tmp_path / "secret").write_text(content)
    turn = f"work; mkdir -p $(dirname {path}); cp {source} {path}; {HONEST}"
    agent = an_agent(tmp_path, turn)
    result = agent.run("--max-iterations", "2")
    assert_ended(result, "max_iterations", 10, "loop-aborted")
    assert json.loads(result.outputs["gaps"]) == [f"guard:{path}"]
    assert why in agent.why(f"guard:{path}")
    assert (agent.repo / path).read_text() == content
    assert not agent.ever_had(path)
    assert not agent.keeps(content)
    assert agent.has("work.txt")
    everything = result.said + result.summary + json.dumps(result.marker)
    assert content.splitlines()[-1] not in everything


def test_secrets_that_lay_in_the_checkout_before_are_never_pushed(tmp_path: Path) -> None:
    """Steps before navci leave credentials there; the journal is as public as the branch."""
    agent = an_agent(tmp_path, "work; echo working", HONEST)
    write_files(agent.repo, {".env": "TOKEN=abc\n", "gha-creds-1 .json": KEY, "mine.txt": "mine\n"})
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(agent.repo, "remote", "add", "origin", str(remote))
    result = agent.run("--push")
    assert_ended(result, "complete", 0, "complete")
    assert ".env is left out of everything navci keeps" in result.said
    assert "gha-creds-1 .json is left out of everything navci keeps" in result.said
    assert is_reachable(remote, WORK) and is_reachable(remote, "mine\n")
    for repository in (agent.repo, remote):
        assert not is_reachable(repository, "TOKEN=abc\n")
        assert not is_reachable(repository, KEY)
    assert (agent.repo / ".env").read_text() == "TOKEN=abc\n"
    assert (agent.repo / "gha-creds-1 .json").read_text() == KEY


def test_a_secret_of_an_interrupted_turn_is_in_no_commit_either(tmp_path: Path) -> None:
    (source := tmp_path / "secret").write_text(KEY)
    navci = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 5"
    turn = f"work; cat {source} >> src/app.py; cp {source} .env; {navci}"
    agent = an_agent(tmp_path, turn, "echo working", f"git checkout -q src; rm .env; {HONEST}")
    agent.run()
    wait_until(lambda: not processes_left(agent.repo))
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "guard:src/app.py" in agent.gaps()
    assert not agent.keeps(FILES["src/app.py"] + KEY)
    assert not agent.keeps(KEY)
    assert agent.has("work.txt")


def test_allow_dirty_does_not_commit_secrets(tmp_path: Path) -> None:
    agent = an_agent(tmp_path)
    write_files(agent.repo, {"src/app.py": KEY})
    result = agent.run("--allow-dirty")
    assert result.exit_code == 2
    assert "src/app.py: line 1 holds what looks like a private key" in result.said
    assert (agent.repo / "src/app.py").read_text() == KEY
    assert git(agent.repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


# --- files nobody should have to meet -------------------------------------------------------


def test_ignore_rules_of_the_agent_hide_nothing(tmp_path: Path) -> None:
    turn = """
        work; echo '*' > .gitignore; echo '*' >> .git/info/exclude
        mkdir d; echo '*' > d/.gitignore; echo hidden > d/hidden.txt; echo log > a.log
        git config core.excludesFile "$PLACE/all"; echo '*' > "$PLACE/all"; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.has("work.txt")
    assert agent.has("d/hidden.txt", "hidden\n")
    assert not agent.ever_had("a.log"), "the rules of base count"


def test_attributes_of_the_agent_change_nothing_that_is_stored(tmp_path: Path) -> None:
    turn = r"""
        printf '* text eol=crlf ident working-tree-encoding=UTF-16\n' > .gitattributes
        work; printf 'a\r\n$Id$\n' > odd.txt; echo working
    """
    # In a clone they would count, so that the work is not done while they are there.
    agent = an_agent(tmp_path, turn, f"rm .gitattributes; {HONEST}")
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.has("work.txt")
    assert agent.keeps("a\r\n$Id$\n")


def test_names_of_every_kind_are_kept(tmp_path: Path) -> None:
    turn = r"""
        work
        echo 1 > $'new\nline'; echo 2 > $'caf\351'; echo 3 > ./-rf; echo 4 > 'trailing '
        echo 5 > $'tab\t'; echo 6 > 'quo"te'; echo 7 > ':(top)x'; echo 8 > './--'; echo 9 > '*'
        echo 10 > $'\033[31mred'; mkdir $'dir\n'; echo 11 > $'dir\n/.gitignore'
        echo 12 > '@mention'
        echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    listing = git(agent.repo, "ls-tree", "-r", "-z", "--name-only", agent.branch).split("\0")
    assert set(listing) >= {"new\nline", "caf\udce9", "-rf", "trailing ", "tab\t", 'quo"te'}
    assert set(listing) >= {":(top)x", "--", "*", "\x1b[31mred", "dir\n/.gitignore", "@mention"}
    assert "\x1b[31m" not in result.said
    assert git(agent.repo, "status", "--porcelain") == ""


def test_three_thousand_files_and_a_large_one(tmp_path: Path) -> None:
    turn = """
        work; mkdir many; cd many; seq 3000 | split -l 1 -a 4; cd ..
        head -c 20000000 /dev/urandom > large.bin; cp large.bin "$PLACE/large"; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert result.marker
    assert result.marker["files_changed_total"] == 3003
    assert len(result.marker["files_changed"]) == 500
    assert agent.keeps((place_of(agent.repo) / "large").read_bytes())


def test_links_pipes_and_sockets_are_no_trouble(tmp_path: Path) -> None:
    turn = """
        work; ln -s loop loop; ln -s .. up; ln -s /etc/passwd outside; mkdir a; ln -s ../a a/self
        mkfifo pipe; (cd /; exec 2>/dev/null; ln -s / "$OLDPWD/root")
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST, f"rm outside root up; {HONEST}")
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.gaps() >= {"guard:outside", "guard:root", "guard:up"}
    listing = git(agent.repo, "ls-tree", "-r", "--name-only", agent.branch).splitlines()
    assert set(listing) >= {"loop", "a/self", "work.txt"}
    assert not {"pipe", "socket"} & set(listing)
    assert git(agent.repo, "show", f"{agent.branch}~1:outside") == "/etc/passwd", "the link alone"


@pytest.mark.parametrize("way", ["mkfifo work.txt", "mkdir -p work.txt/x; echo x > work.txt/x/y"])
def test_a_file_that_turns_into_something_else(tmp_path: Path, way: str) -> None:
    agent = an_agent(tmp_path, "work; echo working", f"rm work.txt; {way}; echo working", HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert agent.keeps(WORK)


@pytest.mark.skipif(not can(*ANYBODY), reason="needs setpriv")
def test_what_cannot_be_read_is_said_and_never_complete(tmp_path: Path) -> None:
    turn = "work; mkdir closed; echo x > closed/x; chmod 0 closed; chmod 0 src/app.py; done_"
    agent = an_agent(
        tmp_path, f"echo 42 > answer.txt; {turn}", "chmod 755 closed src/app.py; done_"
    )
    result = agent.run(through=ANYBODY)
    assert_ended(result, "complete", 0, "complete")
    assert agent.gaps() == {"guard:closed", "guard:src/app.py"}
    assert "cannot be read" in agent.why("guard:closed")
    assert agent.has("closed/x", "x\n") and agent.has("work.txt")


# --- what is not there any more -------------------------------------------------------------


def test_an_empty_work_tree_is_work_too(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "rm -rf -- * .gitignore .agent; echo gone", HONEST)
    assert_ended(agent.run(), "complete", 0, "complete")
    assert git(agent.repo, "ls-tree", "-r", "--name-only", agent.branch) == "answer.txt"
    assert agent.keeps(FILES["src/app.py"])


def test_a_task_document_that_the_agent_deleted_is_archived_all_the_same(tmp_path: Path) -> None:
    document = ".agent/tasks/TASK-3-answer.md"
    text = "# TASK-3: Write 42 into answer.txt\n"
    agent = an_agent(tmp_path, f"rm {document}; {HONEST}", files={document: text})
    result = agent.run(task=("--task-file", document))
    assert_ended(result, "complete", 0, "complete")
    assert agent.task == "TASK-3"
    assert agent.keeps(text)


# --- markers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "turn",
    [
        f"rm -rf {MARKERS}",
        f"for file in {MARKERS}/*; do echo '{{}}' > $file; done",
        f"chmod 555 {MARKERS}",
        f"rm -rf {MARKERS}; echo file > {MARKERS}",
        "rm -rf .agent; echo file > .agent",
        'mkdir "$PLACE/out"; rm -rf .agent; ln -s "$PLACE/out" .agent',
        f'mkdir "$PLACE/out"; rm -rf {MARKERS}; ln -s "$PLACE/out" {MARKERS}',
        f"echo '!*' > {MARKERS}/.gitignore; git add -f {MARKERS}; git commit -qm markers",
    ],
    ids=["deleted", "overwritten", "read-only", "made a file", "its folder made a file",
         "its folder made a link", "made a link", "committed"],
)  # fmt: skip
def test_whatever_becomes_of_the_markers_folder_there_is_a_marker(
    tmp_path: Path, turn: str
) -> None:
    agent = an_agent(tmp_path, f"work; {turn}; echo working", HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert result.outputs["marker"] in result.said
    assert Path(result.outputs["marker"]).is_file()
    out = place_of(agent.repo) / "out"
    assert not out.exists() or not list(out.rglob("*")), "written through a link"
    assert not agent.ever_had(MARKERS, agent.branch)
    assert agent.has("work.txt")


def test_a_marker_of_the_agents_own_changes_nothing(tmp_path: Path) -> None:
    turn = f"""
        cd {MARKERS}
        for file in *.json; do
            sed 's/infra_error/complete/; s/"complete": false/"complete": true/' $file > fake.json
            cp fake.json 2020-01-01-0000_other-complete.json
        done
        echo working
    """
    agent = an_agent(tmp_path, turn)
    result = agent.run("--max-iterations", "2")
    assert_ended(result, "max_iterations", 10, "loop-aborted")
