"""heatsoak on a machine that sleeps, and on one whose power is cut."""

import re
import time

import pytest
from heatsoak.recording import Recording
from own_disk import OwnDisk
from qemu import Qemu

# all is emulated, and slower still where others load the machine: the limits end what hangs
pytestmark = pytest.mark.timeout(3600)

START_S, LEAVE_S, SLEEP_S = 900.0, 300.0, 15.0

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
duration = {rest_s}
[[steps]]
name = "second"
rw = "write"
bs = "128k"
iodepth = 4
runtime = {second_s}
rate = "20m"
"""

#: `out` is where it records.
TOOLS = r"""
run() {
    $heatsoak run $protocol --on /dev/nvme0n1 --erase VM0$2 -o $out $1 >>said 2>&1
}
wait_for() {
    until grep -qs "$1" $out/$2; do
        kill -0 $run || exit
        sleep 0.2
    done
}
newest() {
    # up to the last newline: a line is half written while another is added, or since the power went
    tail -n 20 $out/samples.jsonl | while IFS= read -r line; do printf '%s\n' "$line"; done |
        grep -a -o '"t_s":[0-9.]*,' | tail -n 1
}
to_sleep() {
    echo to sleep
    echo mem >/sys/power/state
    echo awake
}
ended() {
    wait $run
    echo ended with $?
    cat said
}
go_on() {
    run --resume $1
    echo went on with $?
    cat said
}
"""
SCRIPTS = {
    "in-a-pause": """
protocol=long-rest.toml out=paused
run & run=$!
wait_for '"step-begin","step":"rest"' events.jsonl
to_sleep
ended
""",
    "under-load": """
protocol=long-load.toml out=loaded
run & run=$!
wait_for '"step":"second"' samples.jsonl
to_sleep
ended
go_on
""",
    "cut": """
protocol=long-load.toml out=recorded
run & run=$!
wait_for '"step":"second"' samples.jsonl
echo the second step has begun
while sleep 0.1; do
    echo "seen $(newest)"
done
""",
    "go-on": """
protocol=long-load.toml out=recorded
echo "left $(newest)"
# nothing says any more whose data is on the drive, once a run was cut
go_on :NOT-EMPTY
""",
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> OwnDisk:
    disk = OwnDisk(tmp_path_factory.mktemp("disk"))
    disk.put("long-rest.toml", PROTOCOL.format(rest_s=30, second_s=3))
    disk.put("long-load.toml", PROTOCOL.format(rest_s=1, second_s=40))
    for name, text in SCRIPTS.items():
        disk.script(name, TOOLS + text)
    return disk


def said(machine: Qemu, words: str, timeout_s: float = START_S) -> None:
    machine.wait_for(lambda: words in machine.console, timeout_s, repr(words))


def asleep_for_a_while(disk: OwnDisk, script: str) -> tuple[str, float, float]:
    """Run a script that puts its machine to sleep.

    Return what it wrote to its console, and how many seconds it slept, at least and at most.
    """
    machine = disk.start(script)
    try:
        said(machine, "to sleep")
        falls_asleep_s = time.monotonic()
        machine.wait_for(
            lambda: machine.qmp("query-status")["status"] == "suspended", LEAVE_S, "its sleep"
        )
        sleeps_s = time.monotonic()
        time.sleep(SLEEP_S)
        machine.qmp("system_wakeup")
        woken_s = time.monotonic()
        said(machine, "awake", LEAVE_S)
        machine.wait(2 * START_S)
    finally:
        machine.end()
    return machine.console, woken_s - sleeps_s, woken_s - falls_asleep_s


def whole(recording: Recording) -> None:
    """Require that each step is there once, from its start to its end."""
    assert recording.meta.status == "finished"
    for kind in ("step-begin", "step-end"):
        steps = [event.step for event in recording.events if event.kind == kind]
        assert [step for step in steps if step and "~" not in step] == ["first", "rest", "second"]


def test_a_sleep_in_a_pause_is_reported_and_the_run_continues(disk: OwnDisk) -> None:
    console, least_s, most_s = asleep_for_a_while(disk, "in-a-pause")
    assert "ended with 0" in console, console
    recording = Recording.open(disk.fetch("paused"))
    whole(recording)
    (slept_s,) = (event.data["slept_s"] for event in recording.events if "slept_s" in event.data)
    # the kernel knows by a clock of whole seconds how long it slept, and takes a while to wake up
    assert least_s - 2 < slept_s < most_s + 5


def test_a_sleep_under_load_ends_the_run_which_takes_the_step_again(disk: OwnDisk) -> None:
    console, _, _ = asleep_for_a_while(disk, "under-load")
    assert "ended with 3" in console, console
    assert re.search(r"the machine slept for \d+ s in step 'second'", console), console
    assert "went on with 0" in console, console
    recording = Recording.open(disk.fetch("loaded"))
    whole(recording)
    assert "second~1" in {event.step for event in recording.events}


def test_what_was_recorded_before_a_power_cut_is_kept_and_the_run_can_be_resumed(
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
    assert lost_s < 3  # the last second, and what a sync takes on a slow machine
    whole(Recording.open(disk.fetch("recorded")))


def newest_s(machine: Qemu, word: str) -> float:
    """Return the time of the last sample that the machine saw, as it wrote to its console."""
    return float(re.findall(rf'^{word} "t_s":([0-9.]+),$', machine.console, re.MULTILINE)[-1])
