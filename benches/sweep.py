"""What a sweep costs: a point, a second process, and a task that is given to a Dask cluster.

`python benches/sweep.py [ROUNDS] [STEPS]`, where 31 STEPS of air temperature are 372 points and 834
are 10,008. One process, two, and a cluster of two on this machine predict
the same points by turns, so that what others do on the machine falls on all of them. What starting
the processes takes is measured apart: it is the same for ten points and for a million.
"""

import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import distributed
from heatsoak.sweep import Grid, sweep, workers
from heatsoak.sweep.plan import plan_of
from heatsoak.sweep.store import SweepTable
from heatsoak.sweep.work import predict_each, prepare

ROUNDS = 5
#: Of the air's temperature.
STEPS = 31
#: Seven seconds in one process.
GRID = {
    "drives": "samsung-950-pro-512",
    "enclosures": ["puget-top-2gpu-loaded", "open-bench"],
    "workloads": "read",
    "for": "10m",
    "ambient_c": {"from": 20, "to": 50, "steps": STEPS},
    "airflow_m_s": {"from": 0, "to": 2, "steps": 6},
}
TASKS = 500


def main(rounds: int = ROUNDS, steps: int = STEPS) -> None:
    grid = Grid.model_validate({**GRID, "ambient_c": {"from": 20, "to": 50, "steps": steps}})
    of_a_point()
    local: Callable[..., Any] = distributed.LocalCluster
    with local(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        ways: dict[str, dict[str, Any]] = {
            "one process": {"jobs": 1},
            "two processes": {"jobs": 2},
            "a Dask cluster of two": {"scheduler": cluster.scheduler_address},
        }
        of_a_task(grid, {name: way for name, way in ways.items() if name != "one process"})
        of_a_process(grid, ways, rounds)


def of_a_point() -> None:
    """Print what points take, by how many likely drives are looked at, and what parts take."""
    for draws in (1, 10, 40):
        prepared, asked = of_grid(Grid.model_validate(GRID), draws)
        begin = time.process_time()
        rows = predict_each(prepared, asked[:64]).found
        each_ms = (time.process_time() - begin) / len(rows) * 1e3
        print(f"a point of {draws} likely drives: {each_ms:.1f} ms of a processor")
    with tempfile.TemporaryDirectory() as directory:
        plan = plan_of(Grid.model_validate(GRID), draws=40)
        named = {point.id: plan.named(point) for point in plan.points}
        table = SweepTable(Path(directory), named, dict.fromkeys(named, 0), (256, 256))
        rows = [{**rows[place % len(rows)], "point": name} for place, name in enumerate(named)]
        by_name = {row["point"]: row for row in rows}
        taken = []
        for part, names in table.missing():
            begin = time.perf_counter()
            table.add(part, [by_name[name] for name in names])
            taken.append(time.perf_counter() - begin)
        took_ms = statistics.median(taken) * 1e3
        print(f"a part of {len(table.parts[0].names)} points: {took_ms:.1f} ms to write")


def of_grid(grid: Grid, draws: int = 10) -> tuple[bytes, list[Any]]:
    """Return the first group after its pass, and its points."""
    plan = plan_of(grid, draws=draws)
    return prepare(plan.groups[0]).found, [(one.id, one.change) for one in plan.points]


def of_a_task(grid: Grid, ways: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what a task without points takes: to come back, and one of many at once."""
    prepared, _ = of_grid(grid)
    for name, way in ways.items():
        begin = time.perf_counter()
        with workers(**way) as at:
            started_s = time.perf_counter() - begin
            begin = time.perf_counter()
            wait([at.executor.submit(predict_each, prepared, []) for _ in range(TASKS)])
            each_ms = (time.perf_counter() - begin) / TASKS * 1e3
        print(
            f"{name}: {at.overhead_s * 1e3:.1f} ms until an empty task is back, {each_ms:.2f} ms "
            f"for each of {TASKS} at once; {started_s:.1f} s to start or connect"
        )


def of_a_process(grid: Grid, ways: Mapping[str, Mapping[str, Any]], rounds: int) -> None:
    """Print how long all points take each way, and how much of two processors that is."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    own: dict[str, list[float]] = {name: [] for name in ways}
    digests: set[str] = set()
    for _ in range(rounds):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as directory:
                begin = time.process_time()
                taken[name].append(points_s(grid, Path(directory), way))
                own[name].append(time.process_time() - begin)
                digests.add(digest(Path(directory)))
    if len(digests) > 1:
        sys.exit("not the same bytes everywhere")
    print("the same bytes each time")
    alone_s = statistics.median(taken["one process"])
    print(f"{grid.size} points, one process: {alone_s:.1f} s")
    for name in list(ways)[1:]:
        shares = [one / two / 2 for one, two in zip(taken["one process"], taken[name], strict=True)]
        print(
            f"{name}: {statistics.median(taken[name]):.1f} s, efficiency "
            f"{statistics.median(shares):.0%} ({min(shares):.0%} to {max(shares):.0%}); "
            "giving tasks away and writing what comes back takes "
            f"{statistics.median(own[name]):.2f} s of a "
            f"processor, of {statistics.median(own['one process']):.1f} s in one process"
        )


def digest(directory: Path) -> str:
    """Return a hash of a sweep's data set."""
    found = hashlib.sha256()
    for path in sorted(directory.rglob("*.parquet")):
        found.update(str(path.relative_to(directory)).encode() + path.read_bytes())
    return found.hexdigest()


def points_s(grid: Grid, directory: Path, way: Mapping[str, Any]) -> float:
    """Return how long a sweep takes from its first result, a pass without heat, to its last."""
    seen: list[tuple[float, float]] = []
    sweep(
        grid,
        directory / "s",
        progress=lambda done, _: seen.append((time.perf_counter(), done)),
        **way,
    )
    return seen[-1][0] - seen[0][0]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
