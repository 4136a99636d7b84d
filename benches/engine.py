"""The simulated drive's engine on one core: plain loads, page by page, and whole traces."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from heatsoak.catalog import load_drive, load_enclosure

#: Firmware that is quick enough for 50 thousand random writes a second on a full drive.
QUICK = {"write_command_us": 5.0, "move_us": 1.5}


def main() -> None:
    drive = json.loads(load_drive("samsung-950-pro-512").core_json())
    drive["controller"] |= QUICK
    drive["energy"] |= {"write_command_uj": 5.0, "move_uj": 2.0}
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / name for name in ("drive.json", "enclosure.json")]
        files[0].write_text(json.dumps(drive))
        files[1].write_text(load_enclosure("wings-px1").core_json())
        found = _printed("drive_speed", files)
        files[0].write_text(load_drive("samsung-950-pro-512").core_json())
        replays = _printed("replay_speed", files)["replays"]
    for load in found["loads"]:
        print(
            f"{load['load']:25} {load['simulated_s']:7.1f} s of the drive's time in "
            f"{load['processor_s']:5.2f} s: {load['m_ios_s']:6.2f} M I/Os a second"
        )
    hour = found["loads"][-1]
    # a host write touches the map's cell once, and each moved page its own: read and written
    touches = hour["m_ios_s"] * (1 + hour["moved_per_write"])
    share = touches / found["table_updates_m_s"]
    print(
        f"the hour: {hour['m_ios']:.0f} M host writes, each with {hour['moved_per_write']:.2f} "
        f"pages moved: {touches:.0f} M cells of the map a second, {share:.2f} of the "
        f"{found['table_updates_m_s']:.0f} M random updates a second of a table of that size"
    )
    if found["memory_mb_per_gb"] is not None:
        print(f"{found['memory_mb_per_gb']:.2f} MB of memory for each simulated GB")
    for replay in replays:
        state = "a full" if replay["full"] else "an empty"
        print(
            f"a trace like {replay['mix']:9} on {state:8} drive: "
            f"{replay['m_ios']:5.2f} M I/Os, {replay['gb_read'] + replay['gb_written']:.0f} GB, "
            f"in {replay['processor_s']:5.2f} s: {replay['m_ios_s']:.2f} M I/Os a second"
        )


def _printed(example: str, files: list[Path]) -> dict[str, Any]:
    """Run an example of the crate on a drive and its place, and return what it prints."""
    command = ["cargo", "run", "--release", "--quiet", "--package", "heatsoak-drive"]
    command += ["--example", example, "--", *map(str, files)]
    done = subprocess.run(command, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
