"""What navci starts by name is never a program of the checkout."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from navci.errors import ConfigError, InfraError
from navci.system import programs
from navci.system.gitcall import environment
from navci.system.programs import outside, program
from tests.support.repos import make_repo, write_files

FAKE = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository that is the working directory, with a fake git in ``bin``."""
    made = make_repo(tmp_path / "repo", {"bin/git": FAKE, "src/y": ""})
    (made / "bin/git").chmod(0o755)
    cached = (programs.trusted_path, programs.trusted_libraries, programs.program)
    for one in cached:
        one.cache_clear()
    monkeypatch.chdir(made)
    yield made
    for one in cached:
        one.cache_clear()


def test_a_path_without_the_checkout(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"node_modules/.bin/x": "", "src/y": ""})
    (tmp_path / "link").symlink_to(repo / "node_modules")
    given = f"{repo}/node_modules/.bin:/usr/bin:bin::.:{tmp_path}/link/.bin:{tmp_path}/other"
    assert outside(given, repo / "src") == f"/usr/bin:{tmp_path}/other"


def test_a_link_in_the_checkout_is_the_agents_to_replace(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"src/y": ""})
    (tmp_path / "tools").mkdir()
    (repo / "tools").symlink_to(tmp_path / "tools")
    (tmp_path / "other-name").symlink_to(repo)
    given = f"{repo}/tools:{tmp_path}/other-name/tools:{repo}/../tools:{tmp_path}/tools"
    assert outside(given, repo) == f"{repo}/../tools:{tmp_path}/tools"


def test_without_a_repository_nothing_is_of_a_checkout(tmp_path: Path) -> None:
    """Also where navci is started in the folder that all programs lie in, as in a container."""
    assert outside(f"{tmp_path}/bin:bin::/usr/bin", tmp_path) == f"{tmp_path}/bin:/usr/bin"
    assert outside("/usr/bin", Path("/")) == "/usr/bin"


def test_the_real_program_is_found_behind_the_one_of_the_checkout(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    monkeypatch.setenv("PATH", f"{repo}/bin:bin::{os.environ['PATH']}")
    assert shutil.which("git") == f"{repo}/bin/git"
    assert program("git") == real


@pytest.mark.parametrize("path", ["{repo}/bin", "bin", "{repo}/../links"])
def test_a_program_only_in_the_checkout_is_refused(
    repo: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (repo.parent / "links").mkdir()
    (repo.parent / "links/git").symlink_to(repo / "bin/git")
    monkeypatch.setenv("PATH", path.format(repo=repo))
    with pytest.raises(ConfigError, match=r"only in the checkout .*install git elsewhere"):
        program("git")


def test_a_program_that_is_nowhere(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InfraError, match="git was not found; install git"):
        program("git")


def test_the_environment_of_git_leads_into_no_checkout(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own helpers (`git-remote-https`, `ssh`) and libraries are found by these."""
    write_files(repo.parent, {"lib/x": ""})
    monkeypatch.setenv("PATH", f"{repo}/bin:/usr/bin")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{repo}/lib:{repo.parent}/lib:")
    env = environment(None)
    assert (env["PATH"], env["LD_LIBRARY_PATH"]) == ("/usr/bin", f"{repo.parent}/lib")


def test_no_libraries_rather_than_an_empty_list(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{repo}/lib")
    assert "LD_LIBRARY_PATH" not in environment(None)
