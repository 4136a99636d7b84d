"""``heatsoak watch``: a drive that something else loads."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.live import Live

from heatsoak import system, writing
from heatsoak.analysis import analyze
from heatsoak.bench.directories import default_directory
from heatsoak.cli import common, completion
from heatsoak.errors import UsageError
from heatsoak.output import LINE_INTERVAL_S, Console, announce, print_err
from heatsoak.output import lines as stacked
from heatsoak.protocol import read_labels
from heatsoak.report.steps import sentence
from heatsoak.sensor import Roots
from heatsoak.target import DeviceInfo
from heatsoak.target.device import describe_device, drive_behind, drive_called
from heatsoak.words import amount_text, duration_text, known_text, temp_text

if TYPE_CHECKING:
    from heatsoak.bench.watch import DriveWatch

_DRAWN_EACH_S = 1.0


def watch_command(
    device: Annotated[
        str,
        common.argument(
            "DEVICE",
            "The drive, or a directory on it: /dev/nvme0n1, nvme0n1, a serial, /home.",
            offers=completion.devices,
        ),
    ],
    duration_s: float | None = common.option(
        "--for TIME",
        "Stop automatically after 90s, 30m, 8h...",
        reads=common.seconds_between(0.1),
        default=None,
    ),
    until: Any = common.limit_option("--until", "End"),
    on_fall: common.OnFallOption = None,
    interval_s: float = common.option(
        "--interval TIME",
        "How often the counters are read.",
        reads=common.seconds_between(0.01, 60),
        show_default="100ms",
        is_rare=True,
        default=0.1,
    ),
    power_sensor: common.PowerSensorOption = None,
    metrics: common.MetricsOption = None,
    labels: common.LabelOption = None,
    output: common.OutputOption = None,
    output_format: common.FormatOption = "text",
    fail_on: common.FailOnOption = None,
    evidence: common.EvidenceOption = False,
) -> int:
    """Ctrl-C ends it. The drive is neither loaded nor opened for writing."""
    system.require_linux("heatsoak watch")
    # the readers of logs take a while to load, and every command loads this module
    from heatsoak.bench.falls import FallOptions
    from heatsoak.bench.metrics import Metrics, seen_of, serving
    from heatsoak.bench.watch import DriveWatch

    roots = Roots()
    directory = output or default_directory("watch")
    writing.require_new(directory)
    watch = DriveWatch(
        device=_device(device, roots),
        directory=directory,
        conditions=read_labels(labels or []),
        roots=roots,
        interval_s=interval_s,
        power_sensor=power_sensor,
        fall_options=FallOptions(until, "--until", on_fall),
        warn=lambda text: announce(f"warning: {text}"),
    )
    seen = Metrics(lambda: [seen_of(watch)])
    with serving(seen, metrics), _View(watch) as view:
        recording = watch.run(duration_s, view.draw)
    findings = analyze([recording])
    common.show_findings(findings, [recording], output_format, evidence=evidence, paths=[directory])
    if watch.reached is not None:
        return common.limit_broken(watch.reached)
    return common.LimitOptions(fail_on).exit_code(findings)


def _device(text: str, roots: Roots) -> DeviceInfo:
    """The whole disk of a name, node or serial, or that a directory is on."""
    if (named := drive_called(text, roots)) is not None:
        return named
    path = Path(text)
    if path.is_dir():
        if (info := drive_behind(path, roots)) is None:
            raise UsageError(f"{text}: is not on a drive that can be watched")
        return info
    return describe_device(text, roots)


class _View:
    """The newest readings and the verdict so far, on standard error."""

    def __init__(self, watch: "DriveWatch") -> None:
        self._watch = watch
        self._console = Console(stderr=True)
        self._live = (
            Live(console=self._console, auto_refresh=False, transient=True)
            if self._console.is_terminal and not self._console.is_dumb_terminal
            else None
        )
        self._drawn_at = -LINE_INTERVAL_S

    def __enter__(self) -> "_View":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def draw(self, _: "DriveWatch") -> None:
        each_s = LINE_INTERVAL_S if self._live is None else _DRAWN_EACH_S
        if time.monotonic() - self._drawn_at < each_s:
            return
        self._drawn_at = time.monotonic()
        lines = self._lines()
        if self._live is not None:
            text = stacked(lines, overflow="ellipsis", no_wrap=True)
            self._live.update(text, refresh=True)
        else:
            print_err("; ".join(lines))

    def _lines(self) -> list[str]:
        watch, latest = self._watch, self._watch.latest
        model = watch.device.model or watch.device.name
        parts = [f"{model}, {duration_text(round(watch.elapsed_s))}"]
        for column, word, unit in (
            ("read_bw_mb_s", "reads", "MB/s"),
            ("write_bw_mb_s", "writes", "MB/s"),
            ("busy_pct", "busy", "%"),
        ):
            if (value := latest.value(column)) is not None:
                parts.append(f"{word} {amount_text(value, unit, 2)}")
        parts += filter(None, [known_text(latest.drive_temp_c(), temp_text)])
        return [": ".join([parts[0], ", ".join(parts[1:])]), *self._verdict()]

    def _verdict(self) -> list[str]:
        found = self._watch.findings
        if found is None or not found.steps:
            return []
        last = found.steps[-1]
        words = sentence(last)
        return [f"{last.step}: {last.verdict}{f', {words}' if words else ''}"]
