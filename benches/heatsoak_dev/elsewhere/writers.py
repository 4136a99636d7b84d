"""Files as tools of the world write them, each with what it shows of the drive.

Layouts are those of fio 3.3x, sysstat 12, nvme-cli 2, smartmontools 7, HWiNFO 7 and of the
tables that people's own scripts write.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heatsoak_dev.elsewhere.observe import Observed
from heatsoak_dev.elsewhere.thermal import Generator

MODEL, SERIAL = "EXAMPLE SSD 1TB", "E4A7B2901C"
Writer = Callable[[Observed, Path, Generator], set[str]]


def when(seen: Observed, at_s: float) -> datetime:
    """Return the time of the clock at a time of the log."""
    return datetime.fromtimestamp(seen.start_unix_s + at_s, UTC)


def save(path: Path, lines: Iterable[str], end: str = "\n") -> None:
    """Write lines."""
    path.write_bytes((end.join(lines) + end).encode())


def fio_bw_log(seen: Observed, folder: Path, rng: Generator) -> set[str]:
    """fio's ``--write_bw_log``: KiB/s in windows, no row where nothing was completed."""
    clock = rng.random() < 0.7
    way = 0 if seen.scene.reads else 1
    total = seen.read + seen.write
    lines = []
    for at, mb_s in zip(seen.at_s.tolist(), total.tolist(), strict=True):
        if mb_s > 0.01:
            ms = round(1000 * (at + (seen.start_unix_s if clock else 0)))
            lines.append(
                f"{ms}, {round(mb_s * 1e6 / 1024)}, {way}, {seen.block_kib * 1024}, 0x0000"
            )
    save(folder / "job_bw.1.log", lines)
    if clock and rng.random() < 0.5:
        return set()
    (folder / "job.json").write_text(json.dumps(_fio_document(seen, -1), indent=2) + "\n")
    return {"order"}


def _fio_document(seen: Observed, upto: int) -> dict[str, Any]:
    spans = np.diff(seen.at_s, prepend=0.0)
    moved = np.cumsum((seen.read + seen.write) * 1e6 * spans)
    size, end_s = int(moved[upto]), float(seen.at_s[upto])
    count = size // (seen.block_kib * 1024)
    mean_us = 1000 * float(np.mean(seen.await_ms()))
    empty: dict[str, Any] = {
        "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0,
        "total_ios": 0, "short_ios": 0, "drop_ios": 0,
    }  # fmt: skip
    done = empty | {
        "io_bytes": size, "io_kbytes": size // 1024, "bw_bytes": int(size / end_s),
        "bw": int(size / end_s / 1024), "iops": round(count / end_s, 3),
        "runtime": round(end_s * 1000), "total_ios": count,
        "lat_ns": {"min": int(mean_us * 300), "max": int(mean_us * 9000),
                   "mean": round(mean_us * 1000, 3), "stddev": 1000.0, "N": count},
    }  # fmt: skip
    scene = seen.scene
    rw = ("rand" if scene.random else "") + ("read" if scene.reads else "write")
    cpu = float(np.mean(seen.cpu_pct))
    stamp_ms = round((seen.start_unix_s + end_s) * 1000)
    return {
        "fio version": "fio-3.33",
        "timestamp": stamp_ms // 1000,
        "timestamp_ms": stamp_ms,
        "time": when(seen, end_s).strftime("%a %b %e %H:%M:%S %Y"),
        "global options": {"filename": "/dev/nvme0n1", "direct": "1", "ioengine": "libaio"},
        "jobs": [{
            "jobname": "job", "groupid": 0, "error": 0, "eta": 0, "elapsed": int(end_s) + 1,
            "job options": {"name": "job", "rw": rw, "bs": f"{seen.block_kib}k",
                            "iodepth": str(scene.depth), "time_based": "1",
                            "runtime": str(round(seen.duration_s))},
            "read": done if scene.reads else empty,
            "write": empty if scene.reads else done,
            "trim": empty,
            "job_runtime": round(end_s * 1000),
            "usr_cpu": round(cpu * 0.3, 3), "sys_cpu": round(cpu * 0.7, 3),
        }],
    }  # fmt: skip


def fio_status(seen: Observed, folder: Path, rng: Generator) -> set[str]:  # noqa: ARG001
    """fio's JSON with ``--status-interval``: documents one behind the other."""
    documents = (_fio_document(seen, index) for index in range(len(seen.at_s)))
    save(folder / "fio.json", (json.dumps(one, indent=1) for one in documents))
    return {"order"}


IOSTAT = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s"
    "  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await"
    "  aqu-sz  %util"
)


def iostat(seen: Observed, folder: Path, rng: Generator) -> set[str]:  # noqa: ARG001
    """``iostat -x -t -y`` of sysstat 12."""
    name = "sda" if seen.scene.rotating else "nvme0n1"
    lines = [f"Linux 6.1.0-18-amd64 (host) \t{when(seen, 0):%Y-%m-%d} \t_x86_64_\t(16 CPU)", ""]
    waits = seen.await_ms()
    size = seen.block_kib
    for index, at in enumerate(seen.at_s.tolist()):
        read = float(seen.read[index] + seen.others[index]) * 1e6 / 1024
        write = float(seen.write[index]) * 1e6 / 1024
        wait, cpu = float(waits[index]), float(seen.cpu_pct[index])
        stolen = float(seen.stolen_pct[index])
        row = [
            read / size, read, 0, 0, wait if read > 0.01 else 0, size if read > 0.01 else 0,
            write / size, write, 0, 0, wait if write > 0.01 else 0, size if write > 0.01 else 0,
            0, 0, 0, 0, 0, 0, 0, 0, seen.queue[index], seen.busy_pct[index],
        ]  # fmt: skip
        idle = min(100 - cpu - stolen, 99.9)
        lines += [
            "",
            f"{when(seen, at):%Y-%m-%dT%H:%M:%S+0000}",
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"{cpu * 0.4:16.2f}{0:8.2f}{cpu * 0.6:8.2f}{0.05:8.2f}{stolen:8.2f}{idle:8.2f}",
            "",
            IOSTAT,
            f"{name:<12}" + " ".join(f"{cell:8.2f}" for cell in row),
            "",
        ]
    save(folder / "iostat.txt", lines)
    return {"cpu", "queue", "order", "steal"} | ({"total"} if seen.scene.others.any() else set())


def sadf(seen: Observed, folder: Path, rng: Generator) -> set[str]:  # noqa: ARG001
    """``sadf -d -- -d -u``: the processors' table, then the drives'."""
    span = round(seen.interval_s)
    lines = ["# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle"]
    stamps = [f"host;{span};{when(seen, at):%Y-%m-%d %H:%M:%S UTC}" for at in seen.at_s.tolist()]
    shares = zip(stamps, seen.cpu_pct.tolist(), seen.stolen_pct.tolist(), strict=True)
    for stamp, cpu, stolen in shares:
        rest = f"0.00;{stolen:.2f};{100 - cpu - stolen:.2f}"
        lines.append(f"{stamp};-1;{cpu * 0.4:.2f};0.00;{cpu * 0.6:.2f};{rest}")
    lines.append(
        "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util"
    )
    waits, size = seen.await_ms(), seen.block_kib
    for index, stamp in enumerate(stamps):
        read = float(seen.read[index] + seen.others[index]) * 1e6 / 1024
        write = float(seen.write[index]) * 1e6 / 1024
        lines.append(
            f"{stamp};nvme0n1;{(read + write) / size:.2f};{read:.2f};{write:.2f};0.00;{size:.2f};"
            f"{seen.queue[index]:.2f};{waits[index]:.2f};{seen.busy_pct[index]:.2f}"
        )
    save(folder / "sar.csv", lines)
    return {"cpu", "queue", "order", "steal"} | ({"total"} if seen.scene.others.any() else set())


def hwinfo(seen: Observed, folder: Path, rng: Generator) -> set[str]:
    """HWiNFO's log with its footer; dates are day, month, year, of a wall clock."""
    near = seen.scene.neighbour
    drive, smart = f"Drive: {MODEL} ({SERIAL}) [C:]", f"S.M.A.R.T.: {MODEL} ({SERIAL}) [C:]"
    cpu = "CPU [#0]: AMD Ryzen 7 7700"
    columns = [
        ("Total CPU Usage [%]", cpu), ("CPU Package [°C]", cpu + ": Enhanced"),
        ("Drive Temperature [°C]", smart), ("Drive Temperature 2 [°C]", smart),
        ("Drive Failure [Yes/No]", smart), ("Drive Warning [Yes/No]", smart),
        ("Read Activity [%]", drive), ("Write Activity [%]", drive), ("Total Activity [%]", drive),
        ("Read Rate [MB/s]", drive), ("Write Rate [MB/s]", drive),
    ]  # fmt: skip
    if near:
        columns += [
            ("GPU Temperature [°C]", "GPU [#0]: NVIDIA"),
            ("GPU Core Load [%]", "GPU [#0]: NVIDIA"),
        ]
    header = "Date,Time," + ",".join(f'"{name}"' for name, _ in columns)
    lines = [header]
    first, second = seen.at_polls("composite"), seen.at_polls("sensor2")
    for index, at in enumerate(seen.at_s.tolist()):
        now, load = when(seen, at), float(seen.cpu_pct[index])
        read, write = float(seen.read[index] + seen.others[index]), float(seen.write[index])
        busy = float(seen.busy_pct[index])
        part = read / (read + write) if read + write else 0.0
        cells: list[Any] = [
            f"{load:.1f}", f"{40 + load * 0.4:.1f}", f"{first[index]:.0f}", f"{second[index]:.0f}",
            "No", "No", f"{busy * part:.1f}", f"{busy * (1 - part):.1f}", f"{busy:.1f}",
            f"{read:.3f}", f"{write:.3f}",
        ]  # fmt: skip
        if near:
            fine = min(int(at / seen.scene.dt), len(near["gpu_c"]) - 1)
            cells += [f"{near['gpu_c'][fine]:.1f}", f"{near['gpu_pct'][fine]:.0f}"]
        ms = now.microsecond // 1000
        lines.append(f"{now.day}.{now.month}.{now.year},{now:%H:%M:%S}.{ms:03d}," + ",".join(cells))
    if rng.random() < 0.8:
        lines += [header, ",," + ",".join(f'"{name}"' for _, name in columns)]
    (folder / "HWiNFO.CSV").write_bytes("\r\n".join([*lines, ""]).encode("utf-8-sig"))
    return {"cpu", "temps"} | ({"total"} if seen.scene.others.any() else set())


def table(seen: Observed, folder: Path, rng: Generator) -> set[str]:
    """A table that somebody's own script wrote, with columns of its own names."""
    scene, shown = seen.scene, set[str]()
    choice = int(rng.integers(4))
    way = "read" if scene.reads else "write"
    names = [("time_s", f"{way}_MBps"), ("timestamp", f"{way} MB/s"), ("Zeit [s]", "MB/s"),
             ("elapsed", "throughput (MB/s)")][choice]  # fmt: skip
    total = seen.read + seen.write
    heads, columns = [names[0], names[1]], [[f"{value:.1f}" for value in total]]
    if choice == 1:
        times = [f"{when(seen, at):%Y-%m-%d %H:%M:%S}" for at in seen.at_s.tolist()]
    else:
        times = [f"{at:g}" for at in seen.at_s.tolist()]
    if rng.random() < 0.7:
        heads.append(("temp_c", "SSD temp (C)", "Temperatur [°C]", "nvme_temp_c")[choice])
        columns.append([f"{value:.0f}" for value in seen.at_polls("composite")])
        shown.add("temps")
    if rng.random() < 0.3:
        heads.append("busy_pct")
        columns.append([f"{value:.1f}" for value in seen.busy_pct])
    if rng.random() < 0.3:
        heads.append("cpu %")
        columns.append([f"{value:.1f}" for value in seen.cpu_pct])
        shown.add("cpu")
    if scene.neighbour:
        fine = np.minimum((seen.at_s / scene.dt).astype(int), len(scene.demand) - 1)
        heads.append("gpu_temp_c")
        columns.append([f"{scene.neighbour['gpu_c'][at]:.0f}" for at in fine])
    if "temps" in shown and rng.random() < 0.15:
        heads.append("throttled")
        near = np.minimum((seen.at_s / scene.dt).astype(int), len(scene.held) - 1)
        columns.append(["yes" if on else "no" for on in scene.held[near] > 0])
        shown.add("counters")
    sep = ";" if choice == 2 else ","
    lines = [sep.join(heads)]
    lines += [sep.join(cells) for cells in zip(times, *columns, strict=True)]
    save(folder / "log.csv", lines)
    return shown


def bare_table(seen: Observed, folder: Path, rng: Generator) -> set[str]:  # noqa: ARG001
    """A table of times and MB/s, and no more."""
    lines = ["time,MB/s"]
    total = (seen.read + seen.write).tolist()
    lines += [f"{at:g},{mb_s:.1f}" for at, mb_s in zip(seen.at_s.tolist(), total, strict=True)]
    save(folder / "speed.csv", lines)
    return set()


def _kept(seen: Observed) -> bool:
    return int(seen.start_unix_s) % 3 > 0  # two drives in three count thermal transitions


def nvme_json(seen: Observed, folder: Path, rng: Generator) -> set[str]:
    """``nvme smart-log -o json`` in a loop, a line each, with the script's time around it."""
    off, polls, lines = rng.normal(0, 0.4), seen.polls, []
    for index, at in enumerate(polls.at_s.tolist()):
        smart: dict[str, int] = {
            "critical_warning": int(polls.temps["composite"][index] >= seen.scene.warning_c) * 2,
            "temperature": int(polls.temps["composite"][index]) + 273, "avail_spare": 100,
            "spare_thresh": 10, "percent_used": 3,
            "data_units_read": 1204411 + int(polls.read_mb[index] / 0.512),
            "data_units_written": 3000000 + int(polls.written_mb[index] / 0.512),
            "controller_busy_time": 77 + int(at / 60), "power_cycles": 41, "power_on_hours": 512,
            "media_errors": 0, "num_err_log_entries": 0, "warning_temp_time": 0,
            "critical_comp_time": 0,
            "temperature_sensor_1": int(polls.temps["composite"][index]) + 273,
            "temperature_sensor_2": int(polls.temps["sensor2"][index]) + 273,
        }  # fmt: skip
        if _kept(seen):
            smart |= {
                "thm_temp1_trans_count": 4 + int(polls.held_count[index]),
                "thm_temp2_trans_count": 0,
                "thm_temp1_total_time": 30 + int(polls.held_s[index]),
                "thm_temp2_total_time": 0,
            }
        stamp = round(seen.start_unix_s + at + off, 2)
        lines.append(json.dumps({"timestamp": stamp, "device": "/dev/nvme0", "smart": smart}))
    save(folder / "smart.jsonl", lines)
    return {"temps", "counters"} if _kept(seen) else {"temps"}


def smartctl_json(seen: Observed, folder: Path, rng: Generator) -> set[str]:  # noqa: ARG001
    """``smartctl -a -j`` in a loop: documents with ``local_time``."""
    polls, documents = seen.polls, []
    warning = round(seen.scene.warning_c)
    for index, at in enumerate(polls.at_s.tolist()):
        composite = int(polls.temps["composite"][index])
        stamp = int(seen.start_unix_s + at)
        documents.append({
            "json_format_version": [1, 0],
            "smartctl": {"version": [7, 3], "argv": ["smartctl", "-a", "-j", "/dev/nvme0"]},
            "local_time": {"time_t": stamp, "asctime": f"{when(seen, at):%a %b %e %T %Y} UTC"},
            "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
            "model_name": MODEL, "serial_number": SERIAL, "firmware_version": "1.02",
            "nvme_smart_health_information_log": {
                "critical_warning": 0, "temperature": composite, "available_spare": 100,
                "data_units_read": 1204411 + int(polls.read_mb[index] / 0.512),
                "data_units_written": 3000000 + int(polls.written_mb[index] / 0.512),
                "controller_busy_time": 77, "warning_temp_time": 0, "critical_comp_time": 0,
                "temperature_sensors": [composite, int(polls.temps["sensor2"][index])],
            },
            "nvme_composite_temperature_threshold": {"warning": warning, "critical": warning + 4},
            "temperature": {"current": composite},
        })  # fmt: skip
    save(folder / "smartctl.json", (json.dumps(one, indent=1) for one in documents))
    return {"temps", "limit"}


def hwmon_csv(seen: Observed, folder: Path, rng: Generator) -> set[str]:
    """A shell loop over ``temp1_input``: an epoch and thousandths of a degree, or degrees."""
    off, polls = rng.normal(0, 0.3), seen.polls
    milli = rng.random() < 0.5
    lines = ["epoch,temp1_input" if milli else "time,nvme_temp_c"]
    for at, temp in zip(polls.at_s.tolist(), polls.temps["composite"].tolist(), strict=True):
        value = f"{temp * 1000 - 150:.0f}" if milli else f"{temp:.1f}"
        lines.append(f"{seen.start_unix_s + at + off:.2f},{value}")
    save(folder / "temps.csv", lines)
    return {"temps"}


# how often a format is drawn, its writers, and whether it runs beside the load or is the load's own
FORMATS: dict[str, tuple[float, tuple[Writer, ...], bool]] = {
    "fio-log": (1.5, (fio_bw_log,), False),
    "fio-log+smartctl-json": (2, (fio_bw_log, smartctl_json), False),
    "fio-log+nvme-json": (3, (fio_bw_log, nvme_json), False),
    "fio-log+iostat": (1, (fio_bw_log, iostat), False),
    "fio-status": (0.7, (fio_status,), False),
    "fio-status+nvme-json": (1, (fio_status, nvme_json), False),
    "iostat": (1.5, (iostat,), True),
    "iostat+hwmon": (2, (iostat, hwmon_csv), True),
    "iostat+smartctl-json": (1, (iostat, smartctl_json), True),
    "hwinfo": (3, (hwinfo,), True),
    "table": (4, (table,), True),
    "bare-table": (1, (bare_table,), True),
    "sadf+hwmon": (0.7, (sadf, hwmon_csv), True),
    "sadf": (0.5, (sadf,), True),
    "iostat+nvme-json": (1, (iostat, nvme_json), True),
    "smartctl-json": (1, (smartctl_json,), True),
}
