"""What watching a drive costs: processor time of ``heatsoak watch`` while it runs."""

import tempfile
import time
from pathlib import Path

from heatsoak.bench.watch import DriveWatch
from heatsoak.sensor import Roots, device_behind
from heatsoak.target.device import describe_device

RUNTIME_S = 60.0
#: What the first judging loads is not a cost of watching on.
SETTLED_S = 15.0


def main() -> None:
    roots = Roots()
    name = device_behind(Path.cwd(), roots)
    if name is None:
        print("this directory lies on no drive that can be watched")
        return
    spent: list[tuple[float, float]] = []

    def beat(watch: DriveWatch) -> None:
        spent.append((watch.elapsed_s, time.process_time()))

    with tempfile.TemporaryDirectory() as directory:
        watch = DriveWatch(describe_device(name, roots), Path(directory) / "r", {}, roots)
        recording = watch.run(RUNTIME_S, beat)
        rows = recording.samples(["interval_s"]).drop_nulls().height
    begin, end = next(one for one in spent if one[0] > SETTLED_S), spent[-1]
    share = (end[1] - begin[1]) / (end[0] - begin[0])
    print(
        f"watching {name} for {RUNTIME_S:.0f} s, {rows / RUNTIME_S:.1f} rows of counters a second, "
        f"all sensors and a verdict at times: {100 * share:.2f} % of a core"
    )


if __name__ == "__main__":
    main()
