"""Which folders of PATH lie in a checkout, and PATH as a clone of it has it."""

from __future__ import annotations

from pathlib import Path

from navci.system.path_folders import folders_inside, moved_inside


def test_folders_inside(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    (top / "api").mkdir(parents=True)
    (tmp_path / "link").symlink_to(top / "tools")
    value = f"{top}/bin:/usr/bin:{top}/a/../b/:tools:{tmp_path}/link:{tmp_path}/other:{top}"
    assert folders_inside(value, top) == ("bin", "b", "tools", "")
    assert folders_inside("bin::../x", top, top / "api") == ("api/bin", "api", "x")
    assert folders_inside("../bin", top) == ()


def test_the_path_of_a_clone(tmp_path: Path) -> None:
    top, clone = tmp_path / "repo", tmp_path / "clone"
    (clone / "bin").mkdir(parents=True)
    value = f"{top}/bin:/usr/bin:{top}/.venv/bin:tools"
    assert moved_inside(value, top, clone) == (
        f"{clone}/bin:/usr/bin:{clone}/.venv/bin:{top}/.venv/bin:tools"
    )
