"""heatsoak on a machine that sleeps, and on one whose power is cut."""

import re
import time
from pathlib import Path

import pytest
from heatsoak.recording import Recording
from own_disk import OwnDisk
from qemu import Qemu

pytestmark = pytest.mark.timeout(1200)

START_S, LEAVE_S, SLEEP_S = 300.0, 60.0, 15.0

PROTOCOL = """
name = "power"
[[steps]]
name = "first"
rw = "write"
bs = "128k"
iodepth = 4
runtime = 8
rate = "20m"
[[steps]]
kind = "pause"
name = "rest"
duration = 30
[[steps]]
name = "second"
rw = "write"
bs = "128k"
iodepth = 4
runtime = 30
rate = "20m"
"""

RUN = "$heatsoak run power.toml --on /dev/nvme0n1 --erase VM0 -o recorded"
TOOLS = """
wait_for() { until grep -qs "$1" recorded/$2; do sleep 0.2; done; }
newest() { tail -n 1 recorded/samples.jsonl | grep -o '"t_s":[0-9.]*,'; }
"""
SLEEP = """
{run} & run=$!
wait_for '"step-begin","step":"rest"' events.jsonl
echo to sleep in a pause
echo mem >/sys/power/state
echo awake in a pause
wait_for '"step":"second"' samples.jsonl
sleep 3
echo to sleep under load
echo mem >/sys/power/state
echo awake under load
wait $run
echo ended with $?
{run} --resume
echo went on with $?
"""
CUT = """
{run} &
wait_for '"step":"second"' samples.jsonl
echo the second step has begun
while sleep 0.1; do
    echo "seen $(newest)"
done
"""
GO_ON = """
echo "left $(newest)"
{run} --resume
echo went on with $?
"""


@pytest.fixture
def disk(tmp_path: Path) -> OwnDisk:
    disk = OwnDisk(tmp_path)
    disk.put("power.toml", PROTOCOL)
    for name, text in {"sleep": SLEEP, "cut": CUT, "go-on": GO_ON}.items():
        disk.script(name, TOOLS + text.replace("{run}", RUN))
    return disk


def said(machine: Qemu, words: str, timeout_s: float = START_S) -> None:
    machine.wait_for(lambda: words in machine.console, timeout_s, repr(words))


def sleep_and_wake(machine: Qemu, where: str) -> None:
    said(machine, f"to sleep {where}")
    machine.wait_for(
        lambda: machine.qmp("query-status")["status"] == "suspended", LEAVE_S, "its sleep"
    )
    time.sleep(SLEEP_S)
    machine.qmp("system_wakeup")
    said(machine, f"awake {where}", LEAVE_S)


def whole(recording: Recording) -> None:
    """Require that each step is there once, from its begin to its end."""
    assert recording.meta.status == "finished"
    for kind in ("step-begin", "step-end"):
        steps = [event.step for event in recording.events if event.kind == kind]
        assert [step for step in steps if step and "~" not in step] == ["first", "rest", "second"]


def test_a_sleep_in_a_pause_is_told_and_one_under_load_ends_the_run_which_goes_on(
    disk: OwnDisk,
) -> None:
    machine = disk.start("sleep")
    try:
        sleep_and_wake(machine, "in a pause")
        sleep_and_wake(machine, "under load")
        machine.wait(START_S)
    finally:
        machine.end()
    assert "ended with 3" in machine.console, machine.console
    assert re.search(r"the machine slept for \d+ s in step 'second'", machine.console)
    assert "went on with 0" in machine.console, machine.console
    recording = Recording.open(disk.fetch("recorded"))
    whole(recording)
    slept = [event.data["slept_s"] for event in recording.events if "slept_s" in event.data]
    assert slept == [pytest.approx(SLEEP_S, abs=5)] * 2


def test_what_was_recorded_before_the_power_was_cut_is_there_and_the_run_goes_on(
    disk: OwnDisk,
) -> None:
    machine = disk.start("cut")
    try:
        said(machine, "the second step has begun")
        time.sleep(5)
    finally:
        machine.end()
    seen_s = newest_s(machine, "seen")
    machine = disk.start("go-on")
    try:
        machine.wait(2 * START_S)
    finally:
        machine.end()
    assert "went on with 0" in machine.console, machine.console
    lost_s = seen_s - newest_s(machine, "left")
    print(f"lost with the power: {lost_s:.2f} s")
    assert lost_s < 2.0
    whole(Recording.open(disk.fetch("recorded")))


def newest_s(machine: Qemu, word: str) -> float:
    """Return the time of the last sample that the machine saw, as it wrote to its console."""
    return float(re.findall(rf'^{word} "t_s":([0-9.]+),$', machine.console, re.MULTILINE)[-1])
