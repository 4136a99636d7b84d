"""Which of a drive's temperatures stands for it, and which was at its limit, by controller."""

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.findings import RecordingFindings
from heatsoak.catalog.families import families, family_of
from heatsoak.importer.api import recording_of_frame
from heatsoak.recording.columns import drive_temperature

#: Listings of github.com/linuxhw/SMART: model, composite, sensors 1 and 2, in C.
LISTINGS = [
    ("WD_BLACK SN770 1TB", 64, 86, 60),
    ("WD_BLACK SN7100 500GB", 47, 62, 49),
    ("WD PC SN740 SDDPTQD-1T00", 57, 76, 57),
    ("Samsung SSD 970 EVO Plus 1TB", 79, 79, 92),
    ("Samsung SSD 980 1TB", 62, 62, 71),
    ("Samsung SSD 980 PRO 1TB", 61, 61, 73),
    ("Samsung SSD 990 PRO 1TB", 54, 54, 62),
    ("SAMSUNG MZVLW256HEHP-000L7", 65, 65, 82),
    ("SAMSUNG MZAL8512HDLU-00BL2", 46, 68, 46),
    ("SKHynix_HFS001TDE9X081N", 59, 52, 52),
    ("SOLIDIGM SSDPFKKW020X7", 45, 39, 45),
    ("CT1000P3SSD8", 60, 60, 71),
    ("Lexar SSD NM790 1TB", 57, 57, 44),
    ("XPG GAMMIX S70 BLADE", 49, 49, 34),
]


@pytest.mark.parametrize(("model", "composite_c", "sensor1_c", "sensor2_c"), LISTINGS)
def test_the_composite_is_what_its_familys_rule_says(
    model: str, composite_c: float, sensor1_c: float, sensor2_c: float
) -> None:
    family = family_of(model)
    assert family is not None
    read_c = {"sensor1": sensor1_c, "sensor2": sensor2_c}
    ruled_c = max(read_c[name] - family.above_k.get(name, 0) for name in family.composite)
    # of the Aries, 5 to 6 K are known
    assert ruled_c == pytest.approx(composite_c, abs=2)
    chips_c = {"controller": max(sensor1_c, sensor2_c), "nand": min(sensor1_c, sensor2_c)}
    felt = family.felt()
    probes = [{"offset_c": {"value": 0}} | one for one in felt["hottest"] or [felt]]
    simulated_c = [chips_c[min(one["weights"])] + one["offset_c"]["value"] for one in probes]
    assert max(simulated_c) == pytest.approx(composite_c, abs=2)


def test_a_model_is_of_one_family_or_none_and_rules_name_sensors() -> None:
    assert family_of("Samsung SSD 980 PRO 1TB") != family_of("Samsung SSD 980 1TB")
    assert family_of("Tallis N7 1TB").listings == 0
    for family in families().values():
        assert all(pattern == pattern.casefold() for pattern in family.models)
        assert {*family.composite, *family.above_k} <= {f"sensor{n}" for n in range(1, 9)}


@pytest.mark.parametrize(
    ("model", "tops_c", "chosen"),
    [
        ("Samsung SSD 970 EVO 1TB", {"composite": 60, "sensor2": 70}, "composite"),
        ("Samsung SSD 970 EVO 1TB", {"sensor1": 60, "sensor2": 70}, "sensor1"),
        ("WD_BLACK SN770 1TB", {"sensor1": 86, "sensor2": 60}, "sensor1"),
        ("WD_BLACK SN770 1TB", {"sensor1": 80, "sensor2": 60}, "sensor2"),
        ("KINGSTON SFYRD4000G", {"sensor2": 79, "sensor3": 60}, "sensor2"),
        (None, {"sensor1": 60, "sensor2": 70}, "sensor2"),
        (None, {"cpu": 90, "neighbour nvme1 composite": 95, "nand": 50}, "nand"),
        (None, {"cpu": 90}, ""),
    ],
)
def test_one_sensor_stands_for_the_drive(
    model: str | None, tops_c: dict[str, float], chosen: str
) -> None:
    found = drive_temperature({f"temp_c.{name}": c for name, c in tops_c.items()}, model)
    assert found.removeprefix("temp_c.") == chosen


def fell(model: str | None, composite_c: float, sensor2_c: float) -> RecordingFindings:
    """A write that loses half after 150 s, by when both sensors had warmed to these."""
    t_s = np.arange(1.0, 361)
    warmth = np.minimum(t_s / 150, 1)
    frame = pl.DataFrame(
        {
            "t_s": t_s,
            "write_bw_mb_s": np.where(t_s <= 150, 2000.0, 1000.0) * (1 + 0.01 * np.sin(7 * t_s)),
            "temp_c.composite": np.round(35 + (composite_c - 35) * warmth),
            "temp_c.sensor2": np.round(40 + (sensor2_c - 40) * warmth),
        }
    )
    drive = {} if model is None else {"model": model}
    return analyze([recording_of_frame(frame, "log", {}, drive)]).recordings[0]


@pytest.mark.parametrize(
    ("model", "sensor2_c", "is_named"),
    [
        ("KINGSTON SFYRD4000G", 88, True),
        ("KINGSTON SFYRD4000G", 79, False),
        ("Samsung SSD 960 EVO 1TB", 79, False),
        ("Samsung SSD 960 EVO 1TB", 91, True),
        (None, 79, True),
    ],
)
def test_a_fall_names_the_sensor_that_was_at_its_own_familys_limit(
    model: str | None, sensor2_c: float, is_named: bool
) -> None:
    found = fell(model, 54, sensor2_c)
    (episode,) = found.steps[0].episodes
    assert episode.temp_c_at_onset == pytest.approx(54, abs=1)
    assert (episode.hotter_sensor == "sensor2") == is_named
    (fall,) = found.steps[0].claims
    assert (fall.heat == "no") != is_named
    assert ("at 'sensor2'" in found.answer.sentence) == is_named
    assert found.steps[0].temp_sensor == "temp_c.composite"
