"""The page's bundle is made where Node is, when a source has changed, and missed nowhere else."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build_backend"))
import page_bundle

#: Stands for npm: notes what it was asked for, and "builds".
NPM = """#!/bin/sh
echo "$*" >> "$LOG"
case "$*" in
ci*) [ -z "$OFFLINE" ] || { echo "npm error" >&2; echo "npm error no network" >&2; exit 1; }
     mkdir -p node_modules && touch node_modules/.package-lock.json ;;
*build) [ -z "$BROKEN" ] || exit 1
     mkdir -p ../bundle && echo made > ../bundle/page.js && echo made > ../bundle/page.css ;;
esac
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small tree of sources, with a stand-in for npm before all else."""
    (tmp_path / "web" / "src").mkdir(parents=True)
    for name in ("package.json", "package-lock.json", "src/main.ts"):
        (tmp_path / "web" / name).write_text("{}")
        os.utime(tmp_path / "web" / name, (1000, 1000))
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    web, bundle = tmp_path / "web", tmp_path / "bundle"
    monkeypatch.setattr(page_bundle, "WEB", web)
    monkeypatch.setattr(page_bundle, "BUNDLE", (bundle / "page.js", bundle / "page.css"))
    monkeypatch.setattr(page_bundle, "SHARED", ())
    installed = web / "node_modules" / ".package-lock.json"
    monkeypatch.setattr(page_bundle, "_INSTALLED", installed)
    monkeypatch.setenv("PATH", f"{npm.parent}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path


def asked(tree: Path) -> list[str]:
    log = tree / "log"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def changed_later(path: Path) -> None:
    later = page_bundle.BUNDLE[0].stat().st_mtime + 10
    os.utime(path, (later, later))


def test_packages_are_fetched_once_and_the_bundle_is_made_when_a_source_has_changed(
    tree: Path,
) -> None:
    for made in (["ci", "run"], ["ci", "run"]):
        assert page_bundle.make_bundle()
        assert asked(tree) == made
    # what npm installed is not a source
    late = tree / "web" / "node_modules" / "late.js"
    late.write_text("")
    changed_later(late)
    assert page_bundle.is_fresh()
    changed_later(tree / "web" / "src" / "main.ts")
    assert page_bundle.make_bundle()
    assert asked(tree) == ["ci", "run", "run"]


@pytest.mark.usefixtures("tree")
def test_a_source_archive_with_its_bundle_needs_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    page_bundle.make_bundle()
    monkeypatch.setenv("PATH", "")
    # an archive gives all its files one time
    for path in (*page_bundle.sources(), *page_bundle.BUNDLE):
        os.utime(path, (1000, 1000))
    assert page_bundle.make_bundle()


def test_without_npm_or_a_network_one_line_says_so_and_the_build_continues(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OFFLINE", "1")
    assert not page_bundle.make_bundle()
    (line,) = capfd.readouterr().err.splitlines()
    assert "no network" in line
    assert asked(tree) == ["ci"]
    monkeypatch.setenv("PATH", str(tree / "nothing"))
    assert not page_bundle.make_bundle()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("heatsoak: warning: npm is missing")
    assert page_bundle.main(["lint"]) == 0


def test_a_build_that_fails_keeps_the_older_program(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    page_bundle.make_bundle()
    changed_later(tree / "web" / "src" / "main.ts")
    monkeypatch.setenv("BROKEN", "1")
    assert page_bundle.make_bundle()
    assert "keeps its older program" in capfd.readouterr().err
    assert page_bundle.main(["build"]) == 1
