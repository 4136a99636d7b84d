"""Which labels of a recording say something about heat, and which way."""

import pytest
from heatsoak.protocol import Conditions, Label, cools_better, differing, kind_of_condition
from heatsoak.protocol.conditions import label_of, phrase


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("cooling", ["heatsink", "slot", "gpu_load", "gpus", "ambientC", "caseFan", "place"]),
        ("load", ["workload", "block size", "pattern_details", "test_case"]),
        ("identity", ["firmware_version", "hostname"]),
        ("repeat", ["hash", "run", "variant"]),
    ],
)
def test_a_name_says_what_a_condition_is_about(kind: str, names: list[str]) -> None:
    assert {kind_of_condition(name) for name in names} == {kind}


@pytest.mark.parametrize(
    ("name", "here", "there", "better"),
    [
        ("heatsink", "none", "wings-px1", True),
        ("heatsink", "wings-px1", "none", False),
        ("heatsink", "thin", "tower", None),
        ("fan", False, True, True),
        ("fan_rpm", 1200, 600, False),
        ("ambient_c", 22, 35, False),
        ("ambient", "35 C", "22 C", True),
        ("gpus", 1, 2, False),
        ("gpu_load", "idle", "loaded", False),
        ("slot", "top", "bottom", None),
    ],
)
def test_the_better_cooling_is_known_where_the_label_says_it(
    name: str, here: Label, there: Label, better: bool | None
) -> None:
    assert cools_better(name, here, there) is better


def test_only_labels_that_both_have_can_differ() -> None:
    here: Conditions = {"heatsink": "none", "hash": "a1", "rw": "read", "note": "x"}
    there: Conditions = {"heatsink": "tower", "hash": "b2", "rw": "read", "slot": 2}
    assert differing(here, there) == {"cooling": ["heatsink"], "repeat": ["hash"]}


def test_a_condition_that_ends_in_its_unit_is_said_with_it() -> None:
    conditions: dict[str, Label] = {"tmt1_c": 60, "ambient_c": 35}
    assert label_of(conditions, list(conditions)) == "TMT1 60 C, ambient 35 C"
    assert phrase(conditions, ["tmt1_c"]) == "with TMT1 60 C"
