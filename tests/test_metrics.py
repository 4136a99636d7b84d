"""``heatsoak watch --metrics``: what is watched, for Prometheus."""

import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from counted_disk import CountedDisk
from heatsoak.analysis import RecordingFindings, StepFindings, analyze
from heatsoak.bench.metrics import DriveState, Metrics, address_of, seen_of, serving
from heatsoak.bench.recorder import Latest
from heatsoak.bench.watch import DriveWatch
from heatsoak.errors import UsageError
from heatsoak.rack.metrics import HostMetrics
from heatsoak.recording import Recording
from needs import needs
from ports import free_port
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from waiting import until

CONTRIB = Path(__file__).parents[1] / "contrib" / "prometheus"
#: The labels of what a watch of the machine below serves.
DRIVE = {"device": "nvme0n1", "model": "Samsung SSD 950 PRO 512GB", "serial": "S1"}

#: What heats a drive, for so many minutes.
MINUTES = 12
READS = f"""
name = "reads"
steps = [{{ name = "read", rw = "read", bs = "1m", iodepth = 8, runtime = "{MINUTES}m" }}]
"""
ALERTS = {
    "DriveAboveItsWarningTemperature",
    "DriveNearItsCriticalTemperature",
    "DriveThrottledByItsOwnCount",
}

needs_promtool = needs("promtool")  # of Debian's prometheus


class Watched:
    """A drive with a sensor of its own, whose counters a test moves."""

    def __init__(self, tmp_path: Path) -> None:
        self.disk = CountedDisk(tmp_path / "machine")
        self.disk.machine.hwmon(
            *(0, self.disk.controller, "nvme"),
            temp1_input=61_850,
            temp1_label="Composite",
            temp1_max=69_850,
            temp1_crit=84_850,
        )
        self.watch = self.disk.watch(tmp_path / "watched", 0.05)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.fixture
def running(watched: Watched) -> Iterator[tuple[Watched, str]]:
    """A watch that runs and serves metrics, and their URL."""
    over = threading.Event()

    def beat(_: DriveWatch) -> None:
        watched.disk.move("write", 100, 128 * 1024, spent_ms=100)
        if over.is_set():
            raise KeyboardInterrupt

    with serving(Metrics(lambda: [seen_of(watched.watch)]), "0") as url:
        assert url is not None
        thread = threading.Thread(target=watched.watch.run, args=(None, beat))
        thread.start()
        until(lambda: watched.watch.moved["write_bytes"] > 0)
        yield watched, url
        over.set()
        thread.join()


Values = dict[str, list[tuple[Mapping[str, str], float]]]


def values(text: str) -> Values:
    """Every sample by name, without the drive's labels, which all must have."""
    found: Values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert {name: labels.pop(name) for name in DRIVE} == DRIVE
            found.setdefault(sample.name, []).append((labels, sample.value))
    return found


def scraped(watch: DriveWatch) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Metrics(lambda: [seen_of(watch)]))
    return generate_latest(registry).decode()


def test_a_running_watch_serves_what_it_reads(running: tuple[Watched, str]) -> None:
    watched, url = running
    until(lambda: watched.watch.latest.drive_temp_c() is not None)
    with urlopen(url) as answer:
        found = values(answer.read().decode())
    ((_, temp_c),) = found["heatsoak_drive_temperature_celsius"]
    ((sensor, same_c),) = found["heatsoak_temperature_celsius"]
    assert temp_c == same_c == pytest.approx(61.85)
    assert sensor == {"sensor": "composite"}
    limits = {labels["limit"]: c for labels, c in found["heatsoak_temperature_limit_celsius"]}
    assert limits == {"warning": pytest.approx(69.85), "critical": pytest.approx(84.85)}
    ((_, written),) = found["heatsoak_write_bytes_total"]
    ((_, operations),) = found["heatsoak_write_operations_total"]
    assert operations == pytest.approx(100 * round(operations / 100), abs=1e-3)
    assert written == pytest.approx(operations * 128 * 1024)
    assert "heatsoak_verdict" not in found  # nothing was judged so far


def test_what_a_sensor_counts_and_the_judge_says_are_served(watched: Watched) -> None:
    watched.watch.latest.update(
        {
            "throttle_count.tmt1": 7.0,
            "throttle_time_s.tmt1": 90.0,
            "throttle_time_s.warning": 120.0,
            "temp_c.sensor1": -273.15,
            "read_bw_mb_s": 0.0,
            "read_iops": 0.0,
            "read_lat_us": 80.0,
            "power_w": 4.5,
        }
    )
    step = StepFindings(
        **{"step": "writes 1", "workload": "writes", "duration_s": 60.0, "mean_mb_s": 900.0},
        **{"start_temp_c": 40.0, "verdict": "thermal", "episodes": [], "consistency": None},
    )
    watched.watch.findings = RecordingFindings(
        path="", drive={}, conditions={}, steps=[step], sensors=[], notes=[]
    )
    text = scraped(watched.watch)
    found = values(text)
    assert found["heatsoak_throttle_transitions_total"] == [({"counter": "tmt1"}, 7.0)]
    assert found["heatsoak_throttle_seconds_total"] == [
        ({"counter": "tmt1"}, 90.0),
        ({"counter": "warning"}, 120.0),
    ]
    assert found["heatsoak_power_watts"] == [({}, 4.5)]
    states = {labels["verdict"]: value for labels, value in found["heatsoak_verdict"]}
    assert states.pop("thermal") == 1
    assert set(states.values()) == {0}
    assert {"steady", "unknown", "write-cache"} <= set(states)
    assert "heatsoak_temperature_celsius" not in found  # a placeholder is no reading
    assert "heatsoak_read_latency_seconds" not in found  # nothing is read now
    assert "# TYPE heatsoak_throttle_seconds_total counter" in text
    assert "# TYPE heatsoak_verdict gauge" in text


def passes(tool: str, *words: str, cwd: Path | None = None, text: bytes | None = None) -> bool:
    """Whether promtool has nothing to say against something."""
    done = subprocess.run(["promtool", tool, *words], cwd=cwd, input=text, capture_output=True)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stderr == b""


@needs_promtool
def test_promtool_finds_nothing_wrong_with_watches_and_exports(
    running: tuple[Watched, str], tmp_path: Path
) -> None:
    with urlopen(running[1]) as answer:
        assert passes("check", "metrics", text=answer.read())
    run = ("run", "quick", "--on", "sim:samsung-950-pro-512", "-o", "run", "--scale", "0.1")
    done_here(*run, cwd=tmp_path)
    done_here("export", "run", "-o", "om.txt", "--as", "openmetrics", cwd=tmp_path)
    text = without_times((tmp_path / "om.txt").read_text()).encode()
    assert passes("check", "metrics", text=text)


def without_times(text: str) -> str:
    """OpenMetrics as Prometheus' older text, which has no units, and one value of each series."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            if not line.startswith(("# UNIT", "# EOF")):
                found[line] = line
        else:
            series, value, _ = line.rsplit(" ", 2)
            found.setdefault(series, f"{series} {value}")
    return "\n".join(found.values()) + "\n"


@needs_promtool
def test_alert_rules_and_dashboard_are_whole_and_alerts_fire_when_they_should(
    tmp_path: Path,
) -> None:
    assert passes("check", "rules", "rules.yml", cwd=CONTRIB)
    assert passes("test", "rules", "rules.test.yml", cwd=CONTRIB)
    lines = ["groups:", "- name: dashboard", "  rules:"]
    for number, asked in enumerate(expressions()):
        plain = asked.replace("$__rate_interval", "1m").replace("$device", ".*")
        lines += [f"  - record: asked_{number}", f"    expr: {json.dumps(plain)}"]
    (tmp_path / "rules.yml").write_text("\n".join(lines))
    assert passes("check", "rules", "rules.yml", cwd=tmp_path)


@needs_promtool
def test_temperature_alerts_fire_where_a_simulated_drive_throttles_and_nowhere_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "reads.toml").write_text(READS)
    series: dict[str, list[str]] = {}
    for enclosure, fired in (("puget-top-2gpu-loaded", ALERTS), ("fan-fast", set[str]())):
        on = f"sim:skhynix-p41-1tb@{enclosure}"
        done_here("run", "reads.toml", "--on", on, "-o", enclosure, cwd=tmp_path)
        run = Recording.open(tmp_path / enclosure)
        (found,) = analyze([run]).recordings
        assert found.answer.throttles == ("yes" if fired else "no")
        series |= minutes(run, enclosure)
    values = [{"series": key, "values": " ".join(of)} for key, of in series.items()]
    fires = [
        {"labels": f'{{alertname="{name}", device="puget-top-2gpu-loaded"}}', "value": 1}
        for name in sorted(ALERTS)
    ]
    firing = "group by (alertname, device) (ALERTS{alertstate='firing'})"
    at_end = {"expr": firing, "eval_time": f"{MINUTES}m", "exp_samples": fires}
    case = {"interval": "1m", "input_series": values, "promql_expr_test": [at_end]}
    rules = {"rule_files": [str(CONTRIB / "rules.yml")], "tests": [case]}
    (tmp_path / "test.yml").write_text(json.dumps({**rules, "evaluation_interval": "1m"}))
    assert passes("test", "rules", "test.yml", cwd=tmp_path)


@needs_promtool
def test_rules_for_a_model_alarm_where_such_a_drive_is_as_hot_as_it_throttles(
    tmp_path: Path,
) -> None:
    own = {
        "prometheus": (
            'smartctl_device_temperature{temperature_type="current", device="nvme%d"}',
            'smartctl_device{device="nvme%d", model_name="%s"}',
        ),
        "node-exporter": (
            'node_hwmon_temp_celsius{chip="nvme_nvme%d", sensor="temp1"}',
            'node_nvme_info{device="nvme%d", model="%s"}',
        ),
    }
    # it throttles from 82 C, is at its end at 85, and another model is none of its business
    drives = (("990 PRO 4TB", 70), ("990 PRO 4TB", 78), ("990 PRO 4TB", 83), ("SN850X", 83))
    for whose, (temp, model) in own.items():
        words = ("list", "drives", "990 PRO 4TB", "--alert", whose)
        (tmp_path / "rules.yml").write_text(done_here(*words, cwd=tmp_path).stdout)
        values = []
        for number, (name, temp_c) in enumerate(drives):
            values.append({"series": temp % number, "values": f"{temp_c}x20"})
            values.append({"series": model % (number, f"Samsung SSD {name}"), "values": "1x20"})
        count = 'count by (alertname) (ALERTS{alertstate="firing"})'
        fires = [
            {"labels": f'{{alertname="{name}"}}', "value": value}
            for name, value in (("DriveNearItsLimit", 2), ("DriveThrottles", 1))
        ]
        at_end = {"expr": count, "eval_time": "20m", "exp_samples": fires}
        case = {"interval": "1m", "input_series": values, "promql_expr_test": [at_end]}
        test = {"rule_files": ["rules.yml"], "tests": [case], "evaluation_interval": "1m"}
        (tmp_path / "test.yml").write_text(json.dumps(test))
        assert passes("check", "rules", "rules.yml", cwd=tmp_path)
        assert passes("test", "rules", "test.yml", cwd=tmp_path)
    assert "is for a drive" in complaint(heatsoak_here("list", "--alert", "json", cwd=tmp_path), 2)


def minutes(run: Recording, device: str) -> dict[str, list[str]]:
    """Return what would have been scraped of a run, once a minute, by its series."""
    found: dict[str, list[str]] = {}
    for minute in range(MINUTES + 1):
        before = run.samples().filter(pl.col("t_s") <= 60 * minute).drop("step")
        newest = before.select(pl.all().drop_nulls().last()).row(0, named=True)
        latest = Latest()
        latest.update({name: value for name, value in newest.items() if value is not None})
        seen = [DriveState({"device": device}, latest, run.meta.sensors)]
        for family in Metrics(seen.copy).collect():
            for one in family.samples:
                labels = ",".join(f'{key}="{value}"' for key, value in one.labels.items())
                values = found.setdefault(f"{one.name}{{{labels}}}", ["_"] * minute)
                values.append(str(one.value))
    return found


def expressions() -> list[str]:
    """What the dashboard asks for."""
    dashboard = json.loads((CONTRIB / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_dashboard_and_rules_use_metrics_that_watches_and_racks_have(watched: Watched) -> None:
    watched.watch.latest.update({"throttle_count.tmt1": 7.0, "throttle_time_s.tmt1": 90.0})
    watched.watch.latest.update({"temp_c.composite": 60.0})
    watched.watch.latest.update(
        {f"{way}_{unit}": 1.0 for way in ("read", "write") for unit in ("bw_mb_s", "iops")}
    )
    served = set(values(scraped(watched.watch)))
    served |= {family.name for family in HostMetrics("b1", []).collect()}
    served |= {"heatsoak_verdict", "heatsoak_temperature_limit_celsius"}  # of a watch that runs
    asked = " ".join([*expressions(), (CONTRIB / "rules.yml").read_text()])
    assert set(re.findall(r"heatsoak_\w+", asked)) <= served


@pytest.mark.slow
@needs("prometheus")
def test_prometheus_scrapes_a_watch(running: tuple[Watched, str], tmp_path: Path) -> None:
    _, url = running
    place = url.removeprefix("http://").removesuffix("/metrics")
    config = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(CONTRIB / "rules.yml")],
        "scrape_configs": [{"job_name": "drives", "static_configs": [{"targets": [place]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    port = free_port()
    words = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    words.append(f"--web.listen-address=127.0.0.1:{port}")
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(words, cwd=tmp_path, stdout=log, stderr=log) as server,
    ):
        try:
            address = f"http://127.0.0.1:{port}/api/v1/query?query=heatsoak_write_bytes_total"
            found: list[dict[str, object]] = []

            def has_scraped() -> bool:
                try:
                    with urlopen(address) as answer:
                        found[:] = json.load(answer)["data"]["result"]
                except OSError:
                    time.sleep(0.2)  # it is starting
                return bool(found)

            until(has_scraped)
        finally:
            server.terminate()
    (series,) = found
    metric = series["metric"]
    assert isinstance(metric, dict)
    assert metric.items() >= DRIVE.items()


def test_an_address_may_be_a_port_alone_and_what_is_none_or_in_use_is_one_line(
    watched: Watched,
) -> None:
    for text, host, port in (
        ("9101", "127.0.0.1", 9101),
        (":9101", "127.0.0.1", 9101),
        ("0.0.0.0:9101", "0.0.0.0", 9101),
        ("[::1]:0", "::1", 0),
    ):
        assert address_of(text) == (host, port)
    for text in ("here", "127.0.0.1", "127.0.0.1:", "1:99999", "x:-1"):
        with pytest.raises(UsageError, match="is not an address and port, such as 127"):
            address_of(text)
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        address = f"127.0.0.1:{used.getsockname()[1]}"
        with pytest.raises(UsageError, match="cannot listen there: Address already in use"):
            serving(Metrics(lambda: [seen_of(watched.watch)]), address).__enter__()
