"""What a drive itself warns of stands first, whatever can be said of its speed."""

import json
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command import code_of, done_here, heatsoak_here
from heatsoak.analysis.findings import Answer, Claim
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_recording import make_recording, sampled

#: A unit of what an NVMe drive counts.
UNIT_MB = 0.512


def smart(path: Path, name: str, *, warning: int, failed: bool, mb_s: float, count: int) -> Path:
    """Write what a loop around smartctl saw of a drive, every ten seconds."""
    lines = []
    health = "FAILED!" if failed else "PASSED"
    for index in range(count):
        lines += [
            time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(1_770_000_000 + 10 * index)),
            f"Model Number:                       {name}",
            f"Serial Number:                      {name.replace(' ', '')}",
            f"SMART overall-health self-assessment test result: {health}",
            "",
            "SMART/Health Information (NVMe Log 0x02)",
            f"Critical Warning:                   0x{warning:02x}",
            f"Temperature:                        {44 + min(index, 8)} Celsius",
            f"Data Units Written:                 {round(1e6 + index * 10 * mb_s / UNIT_MB):,}",
            "Power On Hours:                     8120",
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_failed_drive_that_held_its_speed_is_told_to_have_failed(tmp_path: Path) -> None:
    smart(tmp_path / "a.txt", "EXAMPLE 1TB", warning=4, failed=True, mb_s=1024, count=42)
    done = heatsoak_here("analyze", "a.txt", cwd=tmp_path)
    assert done.stdout.startswith("The drive itself warns (critical warning 0x04")
    assert "held its speed" in done.stdout.splitlines()[0]
    assert "next: copy what is on it" in done.stdout
    for forbidden, code in (("throttle", 0), ("any", 1)):
        assert code_of("analyze", "a.txt", "--fail-on", forbidden, cwd=tmp_path) == code
    answer = json.loads(heatsoak_here("analyze", "a.txt", "--format", "json", cwd=tmp_path).stdout)
    assert answer["answer"]["throttles"] == "no"
    assert answer["answer"]["alarm"].startswith("the drive itself warns")
    assert heatsoak_here("report", "a.txt", "-o", "j.xml", cwd=tmp_path).returncode == 0
    assert ElementTree.parse(tmp_path / "j.xml").getroot().findall(".//failure")


@pytest.mark.parametrize(
    ("warning", "said"), [(4, "it is no longer reliable"), (2, "its temperature is beyond")]
)
def test_a_drive_that_warns_under_our_load_is_told_to_warn(
    warning: int, said: str, tmp_path: Path
) -> None:
    late = np.where(np.arange(120) < 90, 0, warning)
    samples = sampled(np.full(120, 900.0), critical_warning=late, temp_c__composite=50.0)
    make_recording(tmp_path / "r", samples)
    first = done_here("analyze", "r", cwd=tmp_path).stdout.splitlines()[0]
    assert first.startswith(f"The drive itself warns (critical warning 0x0{warning}: {said}")
    assert "held its speed" in first
    make_recording(tmp_path / "quiet", samples.with_columns(critical_warning=0))
    assert "warns" not in done_here("analyze", "quiet", cwd=tmp_path).stdout


@pytest.mark.parametrize("after", ["", " (a heatsink), and log it again", "; to see it: load it"])
def test_what_helps_against_heat_is_said_once(after: str) -> None:
    read = Answer(throttles="yes", sentence="Heat.", next=f"cool it better{after}")
    alarm = Claim(what="alarm", heat="open", text="it warns", settles="cool it better")
    assert read.after(alarm).next == read.next


@settings(deadline=None, max_examples=15)
@given(
    warnings=st.lists(st.sampled_from([0, 0, 1, 2, 4, 8, 16]), min_size=1, max_size=4),
    loaded=st.booleans(),
)
@example(warnings=[2, 4], loaded=True)
def test_no_alarm_of_any_drive_is_missing_from_the_first_line(
    warnings: list[int], loaded: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("several")
    for index, warning in enumerate(warnings):
        path, failed, mb_s = folder / f"drive{index}.txt", bool(warning), 900.0 * loaded
        smart(path, f"EXAMPLE {index}TB", warning=warning, failed=failed, mb_s=mb_s, count=42)
    first = heatsoak_here("analyze", str(folder), cwd=folder).stdout.splitlines()[0]
    warned = [index for index, warning in enumerate(warnings) if warning]
    warned.sort(key=lambda index: warnings[index] == 2)  # heat is no fault of the drive
    assert ("itself warns" in first) == bool(warned)
    if warned and warnings[1:]:
        assert first.startswith(f"In EXAMPLE {warned[0]}TB, the drive itself warns")
        assert (f"so do {len(warned) - 1} more" in first) == bool(warned[1:])
