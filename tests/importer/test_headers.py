"""What headers mean."""

import pytest
from heatsoak.importer.tables.headers import meaning

#: A column and the factor of its unit, and the headers that mean it.
MEANINGS = {
    ("write_bw_mb_s", 1.0): (
        "Write MB/s | write_mb_s | WriteMBps | Schreibgeschwindigkeit (MB/s) | "
        "Débit d'écriture [Mo/s] | Скорость записи [MB/s] | writes | write_mb_s_mean | "
        "seqwrite MB/s"
    ),
    ("read_bw_mb_s", 1.0): "Read Rate [MB/s] | bw_read | 读取速度 [MB/s] | read_bw_mb_s | readMBs",
    ("write_bw_mb_s", 1.048576): "Write Speed (MiB/s) | wMB/s | write MiB per sec | writeMibs",
    ("read_bw_mb_s", 0.001024): "rkB/s",
    ("write_bw_mb_s", 0.001024): "kB_wrtn/s | write_bw_kib",
    ("bw_mb_s", 1.0): "Throughput (MBps)",
    ("bw_mb_s", 0.001): "Bandwidth [KB/s]",
    ("bw_mb_s", 125.0): "Gbit/s",
    ("bw_mb_s", 1000.0): "GB/s",
    ("bw_mb_s", 1e-06): "B/s",
    ("write_bw_mb_s", 1e-06): (
        "Disk Write Bytes/sec | write_bw_bytes | WriteBytesPersec | Bytes geschrieben/s | "
        "Écritures disque, octets/s"
    ),
    ("read_iops", 1.0): "Read IOPS | r/s | DiskReadsPersec",
    ("iops", 1.0): "IO/s",
    ("iops", 1000.0): "kIOPS",
    ("read_lat_us", 1.0): "Read Latency [µs]",
    ("lat_us", 1000.0): "Latency (ms)",
    ("write_lat_p99_us", 1000.0): "write p99 lat (ms)",
    ("read_lat_p999_us", 1.0): "Read 99.9th latency us",
    ("write_lat_max_us", 0.001): "write_max_lat_ns",
    ("read_lat_us", 1000.0): "r_await",
    ("temp_c.composite", 1.0): (
        "Temp | Temperature [Â°C] | Temperature [\ufffdC] | Composite | 磁盘温度 [℃] | "
        "Laufwerkstemperatur [°C] | ssd_temp_c_mean | Temperatura del disco (°C)"
    ),
    ("temp_c.sensor2", 1.0): "Drive Temperature 2 [°C]",
    ("temp_c.sensor1", 1.0): "Sensor 1 | temp_c.sensor1",
    ("temp_c.cpu", 1.0): "CPU Package [°C] | cpu_pkg_temp",
    ("temp_c.gpu", 1.0): "GPU Temp",
    ("temp_c.gpu_junction", 1.0): "junction_temp",
    ("gpu_power_w.0", 1.0): "gpu_power_w",
    ("busy_pct", 1.0): "disk_util | %util | Total Activity [%]",
    ("temp_c.ambient", 1.0): "Ambient Temp | T_amb (°C)",
    ("temp_c.case", 1.0): "case_c",
    ("power_w", 1.0): "Power [W]",
    ("power_w", 0.001): "power_mw",
    ("cpu_pct", 1.0): "CPU Usage",
    ("gpu_load_pct.0", 1.0): "GPU Load [%]",
    ("queue", 1.0): "Queue Depth",
    ("time", 1.0): (
        "Time | Uhrzeit | ELAPSED_SEC | Elapsed Time (mm:ss) | Temps écoulé (s) | 记录时间 | "
        "duration"
    ),
    ("time", 0.001): "Elapsed (ms) | elapsedMs",
    ("time", 1e-09): "timestamp_ns",
    ("date", 1.0): "Datum",
    ("uptime", 1.0): "UpTime",
    ("run", 1.0): "Run # | iteration",
    ("step", 1.0): "phase",
    ("throttle_count.t1", 1.0): "throttle_count.t1",
    ("bw_mb_s", 1.048576): "bw_mib",
    ("write_iops", 1.0): "w_per_s | Schreibvorgänge/s",
    ("time", 60.0): "Minutes",
    ("temp_c.nand", 1.0): "T_nand (°C)",
    ("throttle_time_s.tmt1", 1.0): "Thermal Management T1 Total Time",
    ("throttle_count.tmt2", 1.0): "Thermal Temp. 2 Transition Count",
    ("throttle_count.tmt1", 1.0): "thm_temp1_trans_count",
    ("throttle_count.throttling", 1.0): (
        "Thermal Throttle (Y/N) | thermal_state | Laufwerk thermische Drosselung [Ja/Nein]"
    ),
    ("read_bw_mb_s", 1e-06): "磁盘读取字节数/秒",
}
#: What says nothing of a drive.
NOTHING = (
    "Current DL rate [KB/s] | DRAM Read Bandwidth [GB/s] | Command Rate [T] | "
    "PCIe Link Speed [GT/s] | Read Total [MB] | Read Activity [%] | "
    "Core 0 Thermal Throttling [Yes/No] | Motherboard [°C] | System Temp | "
    "Peripheral temperature (C) | Exhaust Temp | board_temp | thermal_zone0_c | nic0_temp_c | "
    "Thread count | Exchange Rate | heart rate | speed (km/h) | write_mb_s_max | "
    "Framerate [FPS] | PL1PowerLimit | PL2 Power Limit [W] | CPU TDP [W] | "
    "Power Limit Exceeded | physWriteMibs"
)


@pytest.mark.parametrize(
    ("header", "column", "scale"),
    [(header, *of) for of, headers in MEANINGS.items() for header in headers.split(" | ")],
)
def test_a_header_means_a_column_of_a_recording(header: str, column: str, scale: float) -> None:
    found = meaning(header)
    assert found is not None
    assert found.name == column
    assert found.unit.scale == pytest.approx(scale)


def test_what_says_nothing_of_a_drive_means_nothing() -> None:
    for header in (*NOTHING.split(" | "), "", "x" * 1000):
        assert meaning(header) is None, header


@pytest.mark.parametrize(("header", "at_100"), [("SSD Temp (F)", 37.78), ("temp_k", -173.15)])
def test_other_scales_of_temperature_become_celsius(header: str, at_100: float) -> None:
    found = meaning(header)
    assert found is not None
    assert found.unit.note
    assert 100 * found.unit.scale + found.unit.offset == pytest.approx(at_100, abs=0.01)


@pytest.mark.parametrize(
    ("header", "is_doubtful"),
    [("MB/s", True), ("KB/s", True), ("Write Mbps", True), ("MiB/s", False), ("wMB/s", False),
     ("B/s", False), ("Gbit/s", False), ("write_bw_mb_s", False)],
)  # fmt: skip
def test_a_unit_is_doubted_where_tools_disagree_about_it(header: str, is_doubtful: bool) -> None:
    found = meaning(header)
    assert found is not None
    assert bool(found.unit.doubt) == is_doubtful


def test_a_row_of_units_tells_the_unit() -> None:
    found = meaning("Fast SSD", "°C")
    assert found is not None
    assert found.name.startswith("temp_c.")


@pytest.mark.parametrize("header", ["Thermal Throttling [Yes/No]", "Throttled", "gedrosselt"])
def test_throttling_is_a_state(header: str) -> None:
    found = meaning(header)
    assert found is not None
    assert found.is_state


def test_counters_of_throttling_stay_counters() -> None:
    counter, time = meaning("throttle_count"), meaning("throttle_time_s")
    assert counter is not None
    assert time is not None
    assert not counter.is_state
    assert time.name.startswith("throttle_time_s.")


@pytest.mark.parametrize(
    ("header", "is_certain"),
    [
        ("Probe A Temp", False),
        ("Temp", True),
        ("SSD Temp", True),
        ("Controller Temp [°C]", True),
        ("Samsung 990 PRO Temp", True),
        ("Sensor 2 Temp", True),
    ],
)
def test_whose_a_temperature_is_is_in_doubt_where_its_name_does_not_say(
    header: str, is_certain: bool
) -> None:
    found = meaning(header)
    assert found is not None
    assert (found.unit.doubt == "") is is_certain
    assert is_certain or found.unit.touches == ("temperature",)
