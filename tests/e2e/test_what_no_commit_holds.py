"""A claim without a ``setup-command``: judged in a fresh clone, unless base shows that none serves.

What a user has beside the commits never becomes a gap; what an agent puts there never closes one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.playing import DONE, PYTEST, Case, Played, play
from tests.support.repos import git

pytestmark = pytest.mark.e2e

MINE = {
    "calc.py": "import mine\n\n\ndef double(n):\n    return n\n",
    ".gitignore": "mine.py\nbuild/\n",
}
HACK = "import calc\n\ncalc.double = lambda n: 2 * n\n"
HONEST = "sed -i 's/return n/return 2 * n/' calc.py"
HERE = "claims are judged here, where files that git ignores count too; give `setup-command`"
SUBMODULE = """
mkdir ../outside/lib && cd ../outside/lib && git init -q . && echo x > x && git add -A
git commit -qm lib && cd ../../repo
git -c protocol.file.allow=always submodule -q add ../outside/lib lib && git commit -qam submodule
"""


def honest(tmp_path: Path, case: str, **fields: object) -> Played:
    turns = fields.pop("turns", [[{"run": HONEST}]])
    played = play(Case(case, turns, **fields), tmp_path)  # type: ignore[arg-type]
    assert played.result.exit_code == 0, played.result.said
    assert played.gaps == []
    return played


def test_what_the_user_has_here_alone(tmp_path: Path) -> None:
    """Said once, although each of two claims asks."""
    hack = {"write": {"path": "conftest.py", "text": HACK}}
    turns = [[hack], [{"delete": "conftest.py"}, {"run": HONEST}]]
    played = honest(tmp_path, "mine", files=MINE, setup="touch mine.py", turns=turns, iterations=2)
    assert played.result.said.count("warning: a fresh clone of the base commit is no measure") == 1
    assert HERE in played.read
    assert "original:test_calc::test_double" in played.read


def test_red_here_and_there_for_different_reasons(tmp_path: Path) -> None:
    """The same test is red in the clone of base, but for the want of a file."""
    files = {
        "calc.py": "def double(n):\n    return n\n",
        "test_calc.py": (
            "from pathlib import Path\n\nfrom calc import double\n\n\ndef test_double():\n"
            "    assert double(2) == int(Path('mine.txt').read_text())\n"
        ),
        ".gitignore": "mine.txt\nbuild/\n",
    }
    played = honest(tmp_path, "mine", files=files, setup="echo 4 > mine.txt")
    assert "the checks are red for another reason" in played.read
    assert HERE in played.read


def test_nothing_is_said_where_a_clone_serves(tmp_path: Path) -> None:
    played = honest(tmp_path, "clone", setup="echo mine > private.txt")
    assert HERE not in played.read


def test_a_hack_that_is_gone_when_it_claims(tmp_path: Path) -> None:
    """No clone serves, so the checks run once more on the very files that are there."""
    files = {**MINE, ".gitignore": "mine.py\nbuild/\nconftest.py\n"}
    case = Case(
        "gone",
        [
            [
                {"write": {"path": "conftest.py", "text": HACK}},
                {"write": {"path": "note.txt", "text": "x\n"}},
                {"say": "green now"},
            ],
            [
                {"delete": "conftest.py"},
                DONE,
            ],
        ],
        files=files,
        setup="touch mine.py",
        iterations=2,
        claims=False,
    )
    played = play(case, tmp_path)
    assert played.result.exit_code == 10, played.result.said
    assert played.gaps == ["check:tests", "test:test_calc::test_double"]


def test_a_repository_that_was_there_before(tmp_path: Path) -> None:
    setup = "git init -q theirs; echo x > theirs/x"
    played = honest(
        tmp_path, "theirs", setup=setup, turns=[[{"run": f"{HONEST}; echo y > theirs/y"}]]
    )
    assert "theirs is a git repository of its own inside this one" in played.read


@pytest.mark.parametrize(
    "turn",
    [
        "mkdir lib/__pycache__; echo x > lib/__pycache__/x.pyc",
        "rm -rf lib/x; git -C lib checkout x",
        "rm -rf lib; git -c protocol.file.allow=always submodule update --init",
    ],
    ids=["tried out", "put back", "checked out anew"],
)
def test_a_submodule_that_is_as_recorded(turn: str, tmp_path: Path) -> None:
    honest(tmp_path, "submodule", setup=SUBMODULE, turns=[[{"run": f"{HONEST}; {turn}"}]])


def test_a_submodule_that_the_user_works_on(tmp_path: Path) -> None:
    played = honest(tmp_path, "submodule", setup=f"{SUBMODULE}\necho mine > lib/x")
    assert (played.repo / "lib/x").read_text() == "mine\n"


def test_a_submodule_that_was_not_checked_out(tmp_path: Path) -> None:
    update = "git -c protocol.file.allow=always submodule update --init"
    setup = f"{SUBMODULE}\ngit submodule -q deinit -f lib"
    honest(tmp_path, "submodule", setup=setup, turns=[[{"run": f"{HONEST}; {update}"}]])


@pytest.mark.parametrize("target", ["calc.py", "no/such/file", "/no/such/file", "/dev/null"])
def test_a_link_that_brings_nothing_from_outside(target: str, tmp_path: Path) -> None:
    played = honest(tmp_path, "link", turns=[[{"run": f"{HONEST}; ln -s {target} link"}]])
    branch = played.result.outputs["branch"]
    assert git(played.repo, "show", f"{branch}:link") == target


def test_a_guard_is_gone_with_what_it_names(tmp_path: Path) -> None:
    turns = [
        [{"run": f"{HONEST}; git init -q new; ln -s /etc/hostname link"}],
        [{"run": "rm -rf new link"}],
    ]
    played = honest(tmp_path, "guard", turns=turns, iterations=2)
    assert "2 gaps, first guard:link" in played.read


def test_no_time_for_a_clone(tmp_path: Path) -> None:
    test = f"sleep 2; {PYTEST}"
    args = ["--time-budget", "40s"]
    played = honest(tmp_path, "time", test=test, args=args)
    assert "there is not the time to judge the claim in a fresh clone" in played.read
