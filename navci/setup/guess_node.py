"""JavaScript: what `npm test` runs, and how that writes a JUnit report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from navci.setup.project import Guess, ProjectFiles, table

_UNSPECIFIED = "no test specified"
_SHELL = re.compile(r"[|;&<>$`]")
_RUNNER = re.compile(
    r"^(?:\w+=\S*\s+|cross-env\s+|npx\s+|c8\s+|nyc\s+)*"
    r"(?P<runner>vitest|jest|react-scripts(?=\s+test)|mocha|node(?=\s.*--test\b))(?=\s|$)"
)
_VERSION = re.compile(r"\s*v?(\d+(?:\.\d+){0,2}|lts/[\w*-]+)\s*$")

# Lock file -> what installs exactly what it holds, and what starts a program of the project.
_MANAGERS = {
    "pnpm-lock.yaml": ("pnpm", "pnpm install --frozen-lockfile", "pnpm exec"),
    "yarn.lock": ("yarn", "yarn install --immutable", "yarn"),
    "package-lock.json": ("npm", "npm ci", "npx --no-install"),
    "npm-shrinkwrap.json": ("npm", "npm ci", "npx --no-install"),
}
_STARTED_AS = {"vitest": "vitest run", "react-scripts": "react-scripts test"}
_NO_LOCK = ("npm", "npm install --no-package-lock", "npx --no-install")


def guess_node(files: ProjectFiles) -> Guess | None:
    """The `test` script of package.json, with a report where its runner can write one."""
    try:
        package = json.loads(files.text("package.json") or "null")
    except (ValueError, RecursionError):
        return None
    script = str(table(package, "scripts").get("test") or "")
    known = {*table(package, "dependencies"), *table(package, "devDependencies")}
    if _UNSPECIFIED in script:
        script = ""
    runner = _runner_of(script, known)
    if not script and not runner:
        return None
    manager, install, execute = next(
        (tools for lock, tools in _MANAGERS.items() if lock in files), _NO_LOCK
    )
    if manager == "yarn" and "__metadata:" not in files.text("yarn.lock"):
        install = "yarn install --frozen-lockfile"  # version 1
    report = files.report("npm")
    writes = _REPORTS[runner](report, known) if runner in _REPORTS else None
    command = f"{manager} test"
    if writes is not None:
        variables, options = writes
        # Options reach the runner only where it is the script's one and last command.
        if options and _RUNNER.match(script) and not _SHELL.search(script):
            command += f" -- {options}" if manager == "npm" else f" {options}"
        elif options:
            command = f"{execute} {_STARTED_AS.get(runner, runner)} {options}"
        command = f"{variables} {command}".strip()
    folder = report.partition("/")[0]
    return Guess(
        runner if runner in _REPORTS else "npm",
        f"package.json's test script is `{script}`" if script else f"package.json has {runner}",
        f"mkdir -p {folder} && {command}" if runner == "node" else command,
        (report,) if writes else (),
        install if known or manager != "npm" else "",
        "corepack enable" if manager in ("pnpm", "yarn") else "",
        node=_version(files),
        notes=() if writes else (_advice(runner),),
    )


def _runner_of(script: str, known: set[str]) -> str:
    found = _RUNNER.match(script) or re.search(r"\b(?P<runner>vitest|jest|mocha)\b", script)
    if found:
        return found["runner"]
    return "" if script else next((name for name in ("vitest", "jest") if name in known), "")


# --- reports: variables before the command, options behind it; `None`: it cannot write one ----

_Report = tuple[str, str] | None


def _vitest(report: str, known: set[str]) -> _Report:
    return "", f"--run --reporter=default --reporter=junit --outputFile.junit={report}"


def _jest(report: str, known: set[str]) -> _Report:
    if "jest-junit" not in known:
        return None
    variables = f"CI=true JEST_JUNIT_OUTPUT_FILE={report}"
    return variables, "--ci --reporters=default --reporters=jest-junit"


def _mocha(report: str, known: set[str]) -> _Report:
    if "mocha-junit-reporter" not in known:
        return None
    return "", f"--reporter mocha-junit-reporter --reporter-options mochaFile={report}"


def _node(report: str, known: set[str]) -> _Report:
    # As variables: behind the names of test files, options would be taken for names.
    return f"NODE_OPTIONS='--test-reporter=junit --test-reporter-destination={report}'", ""


_REPORTS: Mapping[str, Callable[[str, set[str]], _Report]] = {
    "vitest": _vitest,
    "jest": _jest,
    "react-scripts": _jest,
    "mocha": _mocha,
    "node": _node,
}


def _advice(runner: str) -> str:
    missing = {"jest": "jest-junit", "react-scripts": "jest-junit", "mocha": "mocha-junit-reporter"}
    how = (
        f"add the package {missing[runner]}, then run `navci init` again"
        if runner in missing
        else "let the tests write a JUnit report, and name it in `navci.junit`"
    )
    return f"`npm test` is judged by its exit code alone; to have each test judged, {how}"


def _version(files: ProjectFiles) -> str:
    for name in (".nvmrc", ".node-version"):
        found = _VERSION.match(files.text(name))
        if found:
            return found[1]
    return ""
