"""What headers mean."""

import pytest
from heatsoak.importer.tables.headers import meaning


@pytest.mark.parametrize(
    ("header", "column", "scale"),
    [
        ("Write MB/s", "write_bw_mb_s", 1.0),
        ("write_mb_s", "write_bw_mb_s", 1.0),
        ("Read Rate [MB/s]", "read_bw_mb_s", 1.0),
        ("Write Speed (MiB/s)", "write_bw_mb_s", 1.048576),
        ("wMB/s", "write_bw_mb_s", 1.048576),
        ("rkB/s", "read_bw_mb_s", 0.001024),
        ("kB_wrtn/s", "write_bw_mb_s", 0.001024),
        ("bw_read", "read_bw_mb_s", 1.0),
        ("Throughput (MBps)", "bw_mb_s", 1.0),
        ("Bandwidth [KB/s]", "bw_mb_s", 1e-3),
        ("Gbit/s", "bw_mb_s", 125.0),
        ("GB/s", "bw_mb_s", 1e3),
        ("B/s", "bw_mb_s", 1e-6),
        ("Disk Write Bytes/sec", "write_bw_mb_s", 1e-6),
        ("WriteMBps", "write_bw_mb_s", 1.0),
        ("write MiB per sec", "write_bw_mb_s", 1.048576),
        ("Schreibgeschwindigkeit (MB/s)", "write_bw_mb_s", 1.0),
        ("Débit d'écriture [Mo/s]", "write_bw_mb_s", 1.0),
        ("Скорость записи [MB/s]", "write_bw_mb_s", 1.0),
        ("读取速度 [MB/s]", "read_bw_mb_s", 1.0),
        ("Read IOPS", "read_iops", 1.0),
        ("r/s", "read_iops", 1.0),
        ("IO/s", "iops", 1.0),
        ("kIOPS", "iops", 1e3),
        ("Read Latency [µs]", "read_lat_us", 1.0),
        ("Latency (ms)", "lat_us", 1e3),
        ("write p99 lat (ms)", "write_lat_p99_us", 1e3),
        ("Read 99.9th latency us", "read_lat_p999_us", 1.0),
        ("write_max_lat_ns", "write_lat_max_us", 1e-3),
        ("r_await", "read_lat_us", 1e3),
        ("Temp", "temp_c.composite", 1.0),
        ("Temperature [Â°C]", "temp_c.composite", 1.0),
        ("Temperature [\ufffdC]", "temp_c.composite", 1.0),
        ("Composite", "temp_c.composite", 1.0),
        ("Drive Temperature 2 [°C]", "temp_c.sensor2", 1.0),
        ("Sensor 1", "temp_c.sensor1", 1.0),
        ("磁盘温度 [℃]", "temp_c.composite", 1.0),
        ("Laufwerkstemperatur [°C]", "temp_c.composite", 1.0),
        ("CPU Package [°C]", "temp_c.cpu", 1.0),
        ("GPU Temp", "temp_c.gpu", 1.0),
        ("cpu_pkg_temp", "temp_c.cpu", 1.0),
        ("junction_temp", "temp_c.gpu_junction", 1.0),
        ("ssd_temp_c_mean", "temp_c.composite", 1.0),
        ("gpu_power_w", "gpu_power_w.0", 1.0),
        ("disk_util", "busy_pct", 1.0),
        ("Ambient Temp", "temp_c.ambient", 1.0),
        ("case_c", "temp_c.case", 1.0),
        ("Power [W]", "power_w", 1.0),
        ("power_mw", "power_w", 1e-3),
        ("CPU Usage", "cpu_pct", 1.0),
        ("GPU Load [%]", "gpu_load_pct.0", 1.0),
        ("Queue Depth", "queue", 1.0),
        ("%util", "busy_pct", 1.0),
        ("Total Activity [%]", "busy_pct", 1.0),
        ("Time", "time", 1.0),
        ("Elapsed (ms)", "time", 1e-3),
        ("timestamp_ns", "time", 1e-9),
        ("Uhrzeit", "time", 1.0),
        ("Datum", "date", 1.0),
        ("UpTime", "uptime", 1.0),
        ("Run #", "run", 1.0),
        ("iteration", "run", 1.0),
        ("phase", "step", 1.0),
        ("read_bw_mb_s", "read_bw_mb_s", 1.0),
        ("temp_c.sensor1", "temp_c.sensor1", 1.0),
        ("throttle_count.t1", "throttle_count.t1", 1.0),
        ("bw_mib", "bw_mb_s", 1.048576),
        ("write_bw_kib", "write_bw_mb_s", 1.024e-3),
        ("write_bw_bytes", "write_bw_mb_s", 1e-6),
        ("WriteBytesPersec", "write_bw_mb_s", 1e-6),
        ("DiskReadsPersec", "read_iops", 1.0),
        ("writeMibs", "write_bw_mb_s", 1.048576),
        ("readMBs", "read_bw_mb_s", 1.0),
        ("w_per_s", "write_iops", 1.0),
        ("writes", "write_bw_mb_s", 1.0),
        ("write_mb_s_mean", "write_bw_mb_s", 1.0),
        ("seqwrite MB/s", "write_bw_mb_s", 1.0),
        ("ELAPSED_SEC", "time", 1.0),
        ("elapsedMs", "time", 1e-3),
        ("Minutes", "time", 60.0),
        ("Elapsed Time (mm:ss)", "time", 1.0),
        ("Temps écoulé (s)", "time", 1.0),
        ("记录时间", "time", 1.0),
        ("duration", "time", 1.0),
        ("T_nand (°C)", "temp_c.nand", 1.0),
        ("T_amb (°C)", "temp_c.ambient", 1.0),
        ("Temperatura del disco (°C)", "temp_c.composite", 1.0),
        ("Thermal Management T1 Total Time", "throttle_time_s.tmt1", 1.0),
        ("Thermal Temp. 2 Transition Count", "throttle_count.tmt2", 1.0),
        ("thm_temp1_trans_count", "throttle_count.tmt1", 1.0),
        ("Thermal Throttle (Y/N)", "throttle_count.throttling", 1.0),
        ("thermal_state", "throttle_count.throttling", 1.0),
        ("Laufwerk thermische Drosselung [Ja/Nein]", "throttle_count.throttling", 1.0),
        ("Bytes geschrieben/s", "write_bw_mb_s", 1e-6),
        ("Écritures disque, octets/s", "write_bw_mb_s", 1e-6),
        ("磁盘读取字节数/秒", "read_bw_mb_s", 1e-6),
        ("Schreibvorgänge/s", "write_iops", 1.0),
    ],
)
def test_a_header_means_a_column_of_a_recording(header: str, column: str, scale: float) -> None:
    found = meaning(header)
    assert found is not None
    assert found.column == column
    assert found.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    "header",
    [
        "Current DL rate [KB/s]",
        "DRAM Read Bandwidth [GB/s]",
        "Command Rate [T]",
        "PCIe Link Speed [GT/s]",
        "Read Total [MB]",
        "Read Activity [%]",
        "Core 0 Thermal Throttling [Yes/No]",
        "Motherboard [°C]",
        "System Temp",
        "Peripheral temperature (C)",
        "Exhaust Temp",
        "board_temp",
        "thermal_zone0_c",
        "nic0_temp_c",
        "Thread count",
        "Exchange Rate",
        "heart rate",
        "speed (km/h)",
        "write_mb_s_max",
        "Framerate [FPS]",
        "PL1PowerLimit",
        "PL2 Power Limit [W]",
        "CPU TDP [W]",
        "Power Limit Exceeded",
        "physWriteMibs",
        "",
        "x" * 1000,
    ],
)
def test_what_says_nothing_of_a_drive_means_nothing(header: str) -> None:
    assert meaning(header) is None


@pytest.mark.parametrize(("header", "at_100"), [("SSD Temp (F)", 37.78), ("temp_k", -173.15)])
def test_other_scales_of_temperature_become_celsius(header: str, at_100: float) -> None:
    found = meaning(header)
    assert found is not None
    assert found.note
    assert 100 * found.scale + found.offset == pytest.approx(at_100, abs=0.01)


@pytest.mark.parametrize(
    ("header", "is_doubtful"),
    [("MB/s", True), ("KB/s", True), ("Write Mbps", True), ("MiB/s", False), ("wMB/s", False),
     ("B/s", False), ("Gbit/s", False), ("write_bw_mb_s", False)],
)  # fmt: skip
def test_a_unit_is_doubted_where_tools_disagree_about_it(header: str, is_doubtful: bool) -> None:
    found = meaning(header)
    assert found is not None
    assert bool(found.doubt) == is_doubtful


def test_a_row_of_units_tells_the_unit() -> None:
    found = meaning("Fast SSD", "°C")
    assert found is not None
    assert found.column.startswith("temp_c.")


@pytest.mark.parametrize("header", ["Thermal Throttling [Yes/No]", "Throttled", "gedrosselt"])
def test_throttling_is_a_state(header: str) -> None:
    found = meaning(header)
    assert found is not None
    assert found.state


def test_counters_of_throttling_stay_counters() -> None:
    counter, time = meaning("throttle_count"), meaning("throttle_time_s")
    assert counter is not None
    assert time is not None
    assert not counter.state
    assert time.column.startswith("throttle_time_s.")


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
    assert (found.doubt == "") is is_certain
    assert is_certain or found.touches == ("temperature",)
