"""``heatsoak lab schema``: what each command prints as JSON is what its schema says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import tiny
from command import complaint, done_here, heatsoak_here, json_here
from compared import falling, run, steady
from heatsoak.cli.overview import NAMES
from schema_check import complaints

#: A counted figure whose recording takes a fraction of a second.
CHEAP = "px1.capture_4k60_sustained"


def schema_of(name: str, cwd: Path) -> dict[str, Any]:
    done = done_here("lab", "schema", name, cwd=cwd)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def document_of(*words: str, cwd: Path) -> Any:
    return json_here(*words, cwd=cwd)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, small_drive_text: str) -> Path:
    """Two recordings that can be compared, and a drive and a protocol for a short run."""
    root = tmp_path_factory.mktemp("pair")
    run({"heatsink": "none"}, falling(60, 0.5), seed=1).save(root / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2).save(root / "r" / "cooled")
    (root / "tiny.toml").write_text(tiny.WRITE)
    lines = [f"{500 * number}, 1000000, 1, 131072, 0\n" for number in range(1, 241)]
    (root / "fio_bw.1.log").write_text("".join(lines))
    (root / "small.toml").write_text(small_drive_text)
    (root / "io.log").write_text(
        "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n1 /dev/x read 0 4096\n2 what\n"
    )
    return root


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("analyze", ("analyze", "r")),
        ("compare", ("compare", "r", "--by", "heatsink")),
        ("drives", ("list", "drives")),
        ("drives-alert", ("list", "drives", "990 PRO 4TB", "--alert", "json")),
        ("drives-health", ("list", "drives", "--health")),
        ("drives-like", ("list", "drives", "--like", "990 PRO 4TB")),
        ("drives-restore", ("list", "drives", "--restore")),
        ("export", ("export", "r", "-o", "all.csv")),
        ("import", ("import", "fio_bw.1.log", "-o", "new")),
        ("places", ("list", "places")),
        ("protocols", ("list", "protocols")),
        ("rack-report", ("rack", "report", "r")),
        ("report", ("report", "r", "-o", "report.csv")),
        ("reproduce", ("lab", "reproduce", "--only", CHEAP)),
        ("run", ("run", "tiny.toml", "--on", "sim:small.toml", "-o", "made")),
        ("run-dry-run", ("run", "tiny.toml", "--on", "sim:small.toml", "--dry-run")),
        ("trace-check", ("lab", "trace", "light", "--check", "--scale", "1e-3")),
        ("trace-stats", ("lab", "trace", "light", "--scale", "1e-3")),
        ("trace-stats", ("lab", "trace", "io.log", "--damaged", "skip")),
    ],
)
def test_the_output_of_a_command_is_as_its_schema_says(
    pair: Path, name: str, words: tuple[str, ...]
) -> None:
    document = document_of(*words, cwd=pair)
    assert complaints(document, schema_of(name, pair)) == []
    rows = document if isinstance(document, list) else [document]
    version = 2 if name in ("analyze", "compare", "run") else 1
    assert all(row["schema_version"] == version for row in rows)


def test_a_figure_that_does_not_hold_is_as_the_schema_says_too(tmp_path: Path) -> None:
    rows = document_of("lab", "reproduce", "--only", "px1.capture", cwd=tmp_path)
    assert complaints(rows, schema_of("reproduce", tmp_path)) == []
    schema = schema_of("reproduce", tmp_path)
    assert complaints([rows[0] | {"why": "so"}], schema) == []


def test_the_check_sees_what_is_wrong(pair: Path) -> None:
    schema = schema_of("analyze", pair)
    document = document_of("analyze", "r", cwd=pair)
    wrong = document | {"more": 1}
    assert complaints(wrong, schema) == ["$: more is not in the schema"]
    document["recordings"][0]["steps"][0]["verdict"] = "warm"
    del document["recordings"][1]["answer"]
    document["schema_version"] = 3
    said = complaints(document, schema)
    assert len(said) == 3
    assert "$.recordings[1]: answer is missing" in said


def test_every_name_has_a_schema_that_says_of_what(tmp_path: Path) -> None:
    listed = heatsoak_here("lab", "schema", cwd=tmp_path).stdout.splitlines()
    names = [line.split()[0] for line in listed]
    assert {"analyze", "compare", "drives", "reproduce", "run"} < set(names)
    for name in names:
        schema = schema_of(name, tmp_path)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert re.match(r"heatsoak \S+.* --format json", schema["title"])
    rows = document_of("lab", "schema", cwd=tmp_path)
    assert [row["name"] for row in rows] == names


def test_an_unknown_name_gets_the_known_ones(tmp_path: Path) -> None:
    said = complaint(heatsoak_here("lab", "schema", "analyse", cwd=tmp_path), 2)
    assert "did you mean 'analyze'" in said


def test_the_document_lists_every_schema() -> None:
    text = (Path(__file__).parents[1] / "docs" / "json.md").read_text("utf-8")
    assert re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE) == list(NAMES)
