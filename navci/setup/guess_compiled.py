"""Maven, Gradle, Go, Cargo."""

from __future__ import annotations

import re

from navci.setup.project import Guess, ProjectFiles, table

GOTESTSUM = "gotest.tools/gotestsum@v1.13.0"

_RUNNERS_JAVA = 17
_JAVAS = (21, 25)
"""Java versions of GitHub's runners beyond the one they start with, each in `JAVA_HOME_…_X64`."""

_RELEASE = re.compile(
    r"<(?:maven\.compiler\.(?:release|source|target)|java\.version|release)>\s*(\d+)\s*<"
    r"|JavaLanguageVersion\.of\(\s*(\d+)\s*\)|JavaVersion\.VERSION_(\d+)"
)


def guess_maven(files: ProjectFiles) -> Guess | None:
    """Surefire's reports, and failsafe's where the project has integration tests."""
    pom = files.text("pom.xml")
    if not pom:
        return None
    maven = "./mvnw" if "mvnw" in files else "mvn"
    integration = "maven-failsafe-plugin" in pom
    reports = ["**/target/surefire-reports/TEST-*.xml"]
    if integration:
        reports.append("**/target/failsafe-reports/TEST-*.xml")
    return Guess(
        "Maven",
        "pom.xml is there",
        # At the end: a red module must not hide the tests of those after it.
        f"{maven} -B -ntp --fail-at-end {'verify' if integration else 'test'}",
        tuple(reports),
        prepare=_java(pom),
    )


def guess_gradle(files: ProjectFiles) -> Guess | None:
    """The `test` tasks of all projects."""
    scripts = [*files.matching("build.gradle", "build.gradle.kts", "settings.gradle*")]
    if not scripts:
        return None
    gradle = "./gradlew" if "gradlew" in files else "gradle"
    text = "\n".join(map(files.text, files.matching("**/build.gradle", "**/build.gradle.kts")))
    return Guess(
        "Gradle",
        f"{scripts[0]} is there",
        # Without daemon, which would be ended anyway, and cache: what is measured has to run.
        f"{gradle} --no-daemon --no-build-cache --continue test",
        ("**/build/test-results/**/TEST-*.xml",),
        prepare=_java(text),
    )


def _java(text: str) -> str:
    wanted = max((int(n) for found in _RELEASE.findall(text) for n in found if n), default=0)
    if wanted <= _RUNNERS_JAVA:
        return ""
    version = next((java for java in _JAVAS if java >= wanted), _JAVAS[-1])
    return f'echo "JAVA_HOME=$JAVA_HOME_{version}_X64" >> "$GITHUB_ENV"'


def guess_go(files: ProjectFiles) -> Guess | None:
    """gotestsum, which writes `go test`'s results as JUnit."""
    module = files.text("go.mod")
    if not module:
        return None
    report = files.report("go")
    tool = re.search(r"^\s*(?:tool\s+)?gotest\.tools/gotestsum\s*$", module, re.MULTILINE)
    program = "go tool gotestsum" if tool else f"go run {GOTESTSUM}"
    folder = report.partition("/")[0]
    return Guess(
        "Go",
        "go.mod is there",
        f"mkdir -p {folder} && {program} --junitfile {report} ./...",
        (report,),
    )


def guess_cargo(files: ProjectFiles) -> Guess | None:
    """nextest, where a profile of it writes JUnit; else `cargo test`, judged by its exit code."""
    if "Cargo.toml" not in files:
        return None
    where = ".config/nextest.toml"
    profiles = table(files.toml(where), "profile")
    paths = {
        name: path
        for name in sorted(profiles, key=lambda name: (name != "ci", name != "default", name))
        if (path := table(profiles, name, "junit").get("path")) and isinstance(path, str)
    }
    for name, path in paths.items():
        return Guess(
            "Cargo (nextest)",
            f"{where} has a profile `{name}` that writes JUnit",
            f"cargo nextest run --workspace --no-fail-fast --profile {name}",
            (f"target/nextest/{name}/{path}",),
            prepare=(
                "curl -LsSf https://get.nexte.st/0.9/linux"
                ' | tar zxf - -C "${CARGO_HOME:-$HOME/.cargo}/bin"'
            ),
            notes=("nextest runs no doctests; name `cargo test --doc` in `navci.checks` for them",),
        )
    return Guess(
        "Cargo",
        "Cargo.toml is there",
        "cargo test --workspace --no-fail-fast",
        notes=(
            "`cargo test` is judged by its exit code alone; to have each test judged, let nextest "
            f'write JUnit (in {where}: `[profile.ci.junit]`, `path = "junit.xml"`), then run '
            "`navci init` again",
        ),
    )
