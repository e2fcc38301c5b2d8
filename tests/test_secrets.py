"""The secret scan, by name and by content. Keys are put together here, so that none is kept."""

from __future__ import annotations

import os
import random
import string
from pathlib import Path

import pytest

from navci.evidence.secrets import find_secrets

BASE62 = string.ascii_letters + string.digits
_random = random.Random(7)  # made-up keys, the same in every run


def key(length: int, alphabet: str = BASE62) -> str:
    return "".join(_random.choices(alphabet, k=length))


def pem(kind: str, lines: int = 8) -> str:
    body = "\n".join(key(64, BASE62 + "+/") for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"


def scan(
    top: Path, content: str | bytes, name: str = "src/app.py", old: bytes | None = None
) -> str:
    """Why the file is a finding; empty when it is none."""
    file = top / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return find_secrets(top, [name], lambda _: old).get(name, "")


SECRET_NAMES = [".env", ".env.local", "a/.env.production", "credentials.json", "secrets.yaml"]
SECRET_NAMES += ["secrets.yml", "deploy_key.pem", "cert.p12", "cert.PFX", "id_rsa", "id_ed25519"]
SECRET_NAMES += ["client_secret.json", "passwords.txt", "github-token", "apiToken.txt", ".token"]
SECRET_NAMES += ["prod-secret.env", "token.properties"]

HONEST_NAMES = [".env.example", ".env.sample", ".env.template", ".env.dist", "id_rsa.pub", "env.py"]
HONEST_NAMES += ["tokenizer.py", "test_tokens.py", "secret.go", "password_reset.html", "Token.java"]
HONEST_NAMES += ["tokenizer.json", "tokenizer_config.json", "secretary.txt", "cert.pem", "docs.md"]
HONEST_NAMES += ["secrets/readme.txt", "secrets.example.yaml", "token.sample.json", "environment"]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_name_for_secrets(tmp_path: Path, name: str) -> None:
    assert "name for secrets" in scan(tmp_path, "x=1\n", name)


@pytest.mark.parametrize("name", HONEST_NAMES)
def test_an_honest_name(tmp_path: Path, name: str) -> None:
    assert scan(tmp_path, "x=1\n", name) == ""


def test_a_name_that_base_has_an_empty_file_and_a_program_are_no_findings(tmp_path: Path) -> None:
    assert scan(tmp_path, "x=2\n", ".env", old=b"x=1\n") == ""
    assert scan(tmp_path, "", ".env") == ""
    assert scan(tmp_path, "#!/bin/sh\n", "bin/rotate-token") == ""


SECRETS = {
    "private key": pem("PRIVATE KEY"),
    "private RSA key": pem("RSA PRIVATE KEY"),
    "private OpenSSH key": pem("OPENSSH PRIVATE KEY"),
    "small private key": pem("PRIVATE KEY", 1),
    "private key in JSON": '{"key": "' + pem("PRIVATE KEY").replace("\n", "\\n") + '"}',
    "private PGP key": pem("PGP PRIVATE KEY BLOCK").replace("-----\n", "-----\nVersion: 1\n\n", 1),
    "AWS": "AKIA" + key(16, string.ascii_uppercase + "234567"),
    "GitHub ghp": "ghp_" + key(36),
    "GitHub gho": "gho_" + key(36),
    "GitHub ghs": "ghs_" + key(36),
    "GitHub pat": f"github_pat_{key(22)}_{key(59)}",
    "Anthropic": f"sk-ant-api03-{key(95)}",
    "OpenAI": f"sk-proj-{key(74)}",
    "Slack": f"xoxb-{key(12, '24689')}-{key(12, '24689')}-{key(24)}",
    "Google": "AIza" + key(35),
    "npm": "npm_" + key(36),
    "GitLab": "glpat-" + key(20),
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_in_the_content(tmp_path: Path, secret: str) -> None:
    why = scan(tmp_path, f"# settings\n\nKEY = '{secret}'\n")
    assert why.startswith("line 3 holds what looks like a")
    assert secret[-12:] not in why
    assert scan(tmp_path, f"now: {secret}", old=f"KEY = '{secret}'".encode()) == ""


HONEST = {
    "AWS's example": "AKIA" + "IOSFODNN7EXAMPLE",
    "a test key": "sk-test, sk-proj-test, sk-ant-api03-xxxxxxxx",
    "placeholders": "ghp_" + "x" * 36 + " npm_" + "0" * 36 + " glpat-your-token-goes-here-now",
    "alphabet": "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "a pattern": r"re.compile(r'ghp_[A-Za-z0-9]{36}|AKIA[A-Z0-9]{16}')",
    "a header alone": "if b'-----BEGIN PRIVATE KEY-----' in data:\n    raise ValueError(path)\n",
    "a public key": pem("PUBLIC KEY"),
    "a certificate": pem("CERTIFICATE"),
    "a placeholder key": "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "within a word": "XAKIA" + key(16, string.ascii_uppercase) + " my_ghp_" + key(36),
    "too long for AWS": "AKIA" + key(40, string.ascii_uppercase),
    "hashes": "\n".join(f"{key(64, 'abcdef0123456789')}  file{n}" for n in range(500)),
    "a table of words": "\n".join(f"{key(20)}: {key(40)}," for _ in range(2000)),
}


@pytest.mark.parametrize("content", HONEST.values(), ids=HONEST)
def test_honest_content(tmp_path: Path, content: str) -> None:
    assert scan(tmp_path, content) == ""


def test_a_second_secret_is_found_beside_one_that_base_had(tmp_path: Path) -> None:
    old, new = "ghp_" + key(36), "ghp_" + key(36)
    assert "line 2" in scan(tmp_path, f"{old}\n{new}\n", old=old.encode())


def test_large_files(tmp_path: Path) -> None:
    secret = ("ghp_" + key(36)).encode()
    assert "line 1" in scan(tmp_path, b" " * (9 << 20) + secret, "big.txt")
    assert scan(tmp_path, b"\0" * (5 << 20) + secret, "big.bin") == ""
    assert "GitHub" in scan(tmp_path, b"\0" * 100 + secret, "small.bin")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "outside").write_text("ghp_" + key(36))
    (tmp_path / "link").symlink_to("outside")
    (tmp_path / ".env").symlink_to("outside")
    paths = ["pipe", "folder", "link", ".env", "gone", "outside/below"]
    assert list(find_secrets(tmp_path, paths, lambda _: None)) == [".env"]


def test_paths_of_any_bytes_and_only_the_named_ones(tmp_path: Path) -> None:
    name = os.fsdecode(b"new\nline \xff.txt")
    (tmp_path / "other.txt").write_text("ghp_" + key(36))
    assert "GitHub" in scan(tmp_path, "ghp_" + key(36), name)
    assert list(find_secrets(tmp_path, [name], lambda _: None)) == [name]


def test_a_file_that_cannot_be_read_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything, so the fault is injected
    why = find_secrets(tmp_path, ["a"], lambda _: None)["a"]
    assert why == "it could not be read for the secret scan: Permission denied"
