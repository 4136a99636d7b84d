"""What `run`, `analyze` and `watch` end with: the answer, then fifteen lines, then commands."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import done_here, heatsoak_here
from heatsoak.analysis import Findings, analyze
from heatsoak.output import Console
from heatsoak.recording import Recording
from heatsoak.report.findings import print_first_screen
from made_once import made_once

HEAD = """
schema = 1
name = "sixty-steps-whose-protocol-has-a-name-of-about-sixty-letters"
"""
STEP = """
[[steps]]
name = "{name}"
rw = "{rw}"
bs = "{bs}"
iodepth = {iodepth}
runtime = "{runtime}"
"""


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty steps on a simulated drive, of which one is long and heavy enough to throttle."""
    steps = [
        STEP.format(
            name=f"{'heavy' if number == 41 else 'light'}-step-with-a-long-name-number-{number:02}",
            rw="write" if number == 41 else "randread",
            bs="128k" if number == 41 else "4k",
            iodepth=32 if number == 41 else 1,
            runtime="90s" if number == 41 else "8s",
        )
        for number in range(60)
    ]

    def make(directory: Path) -> None:
        (directory / "sixty.toml").write_text(HEAD + "".join(steps))
        place = "sim:samsung-950-pro-512@puget-top-1gpu-loaded"
        done_here("run", "sixty.toml", "--on", place, "-o", "one", cwd=directory)

    return made_once(tmp_path_factory, "sixty", make)


def body(text: str) -> list[str]:
    """The lines between the answer and the commands."""
    _, _, rest = text.partition("\n\n")
    return [line for line in rest.splitlines() if not line.startswith("charts: ")]


def printed(recordings: Sequence[Recording], findings: Findings, width: int) -> str:
    out = io.StringIO()
    print_first_screen(findings, recordings, Console(file=out, width=width), None)
    return out.getvalue()


def test_sixty_steps_take_fifteen_lines_with_the_worst_among_them(sixty: Path) -> None:
    done = heatsoak_here("analyze", "one", cwd=sixty)
    lines = body(done.stdout)
    assert len(lines) <= 15
    (heavy,) = [line for line in lines if line.startswith("heavy-step")]
    assert "thermal" in heavy
    (rest,) = [line for line in lines if line.startswith("and ")]
    shown = [line for line in lines if "-number-" in line]
    # "and 48 more: 48 steady"
    assert int(rest.split()[1]) == 60 - len(shown)
    assert sum(int(word) for word in rest.partition(":")[2].split() if word.isdecimal()) == int(
        rest.split()[1]
    )
    assert done.stdout.splitlines()[-1] == "charts: heatsoak report one -o report.html"


@pytest.mark.parametrize("count", [1, 2, 8])
def test_no_line_is_longer_than_the_screen(sixty: Path, count: int) -> None:
    found = analyze([Recording.open(sixty / "one")])
    recordings = [Recording.open(sixty / "one")] * count
    findings = found.model_copy(update={"recordings": found.recordings * count})
    for width in (60, 80, 120):
        lines = body(printed(recordings, findings, width))
        assert len(lines) <= 15
        assert all(len(line.rstrip()) <= width for line in lines), lines
        # what a person came for is never cut
        assert any("thermal" in line for line in lines)
        assert all("MB/s" in line for line in lines if line.startswith(("Step", "Recording")))


def test_all_evidence_is_a_word_away(sixty: Path) -> None:
    done = heatsoak_here("analyze", "one", "--evidence", cwd=sixty)
    found = json.loads(heatsoak_here("analyze", "one", "--format", "json", cwd=sixty).stdout)
    (recording,) = found["recordings"]
    said = " ".join(done.stdout.split())
    for step in recording["steps"]:
        assert step["step"] in said
        for episode in step["episodes"]:
            assert all(line in said for line in episode["evidence"])
    assert all(note in said for note in recording["notes"])
    brief = heatsoak_here("analyze", "one", cwd=sixty).stdout
    count = sum(len(one["evidence"]) for step in recording["steps"] for one in step["episodes"])
    assert f"{count} pieces of evidence: heatsoak analyze one --evidence" in brief


def test_what_was_written_and_what_would_bring_a_temperature_stand_there(tmp_path: Path) -> None:
    words = ("run", "quick", "--on", "sim:samsung-950-pro-512", "-o", "r")
    said = heatsoak_here(*words, cwd=tmp_path).stdout
    assert "GB were written" in said
    assert "no temperature" not in said
    rows = [f"2026-01-01 00:00:{second:02},{1000}" for second in range(60)]
    (tmp_path / "log.csv").write_text("\n".join(["timestamp,write MB/s", *rows]))
    lines = body(heatsoak_here("analyze", "log.csv", cwd=tmp_path).stdout)
    assert any("no temperature was logged" in line for line in lines)
    # nobody asked heatsoak to write that
    assert not any("were written" in line for line in lines)
