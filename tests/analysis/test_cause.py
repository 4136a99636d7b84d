"""The table of weights, the rule that names a cause, and the fit."""

import re
from dataclasses import replace
from pathlib import Path

import heatsoak.analysis.cause.evidence as evidence
import numpy as np
import pytest
from heatsoak.analysis.cause.weigh import (
    CAUSES,
    MAX_CONFIDENCE,
    MAX_WITHOUT_TEMP,
    OTHER,
    SURE_SHARE,
    table,
)
from heatsoak.analysis.findings import Cause
from heatsoak_dev.weights import UNFORESEEN, as_toml, fit_weights
from hypothesis import given
from hypothesis import strategies as st

ROWS = sorted(table("judgement").weights)


def said_by_the_evidence() -> set[tuple[str, str]]:
    """What the sources of the evidence can return, as far as it stands there as literals."""
    pairs: set[tuple[str, str]] = set()
    for file in Path(evidence.__file__).parent.glob("*.py"):
        for look in re.split(r"^def ", file.read_text(), flags=re.M):
            text = re.sub(r"\s+", " ", look)
            pairs |= set(re.findall(r'Finding\( ?"([a-z-]+)", "([a-z-]+)"', text))
            if about := re.search(r'Finding\( ?"([a-z-]+)", what', text):
                pairs |= {(about[1], seen) for seen in re.findall(r'seen\( ?"([a-z-]+)"', text)}
    return pairs


def test_every_finding_has_been_judged_and_every_judgement_can_be_found() -> None:
    said = said_by_the_evidence()
    assert said <= set(ROWS)
    sources = " ".join(f.read_text() for f in Path(evidence.__file__).parent.glob("*.py"))
    for about, seen in ROWS:
        assert (about, seen) in said or (f'"{about}"' in sources and f'"{seen}"' in sources)


def shares(thermal: float, **others: float) -> dict[str, float]:
    """Shares of heat and of some others; the rest is something else's."""
    named = {name.replace("_", "-"): share for name, share in others.items()}
    known = dict.fromkeys(CAUSES, 0.0) | {"thermal": thermal} | named
    return known | {OTHER: 1 - sum(known.values())}


COUNTED, ELSEWHERE = ("thermal-counters", "rose"), ("conditions", "moved")


@pytest.mark.parametrize(
    ("said", "seen", "has_temp", "expected"),
    [
        (shares(SURE_SHARE), {}, True, "thermal"),
        (shares(SURE_SHARE - 0.01), {}, True, "unknown"),
        # a share that comes of shapes alone is none that anybody measured
        (shares(0.98), {}, False, "unknown"),
        (shares(0.8), {COUNTED}, False, "thermal"),
        (shares(0.8), {ELSEWHERE}, False, "thermal"),
        (shares(0.7), {ELSEWHERE}, False, "unknown"),
        # what may still be heat is not said to be something else
        (shares(0.02, write_cache=0.8), {}, True, "write-cache"),
        (shares(0.15, write_cache=0.8), {}, True, "unknown"),
        (shares(0.02, write_cache=0.6), {}, True, "unknown"),
    ],
)
def test_a_cause_is_named_by_its_share_and_heat_only_where_something_showed_it(
    said: dict[str, float], seen: set[tuple[str, str]], has_temp: bool, expected: str
) -> None:
    cause, confidence = table().named(said, seen, has_temp=has_temp)
    assert cause == expected
    assert confidence == (0 if cause == "unknown" else said[cause])


def test_heat_that_no_temperature_showed_is_never_certain() -> None:
    assert table().named(shares(1.0), {ELSEWHERE}, has_temp=False) == ("thermal", MAX_WITHOUT_TEMP)
    assert table().named(shares(1.0), {ELSEWHERE}, has_temp=True) == ("thermal", MAX_CONFIDENCE)


@pytest.mark.parametrize("cause", ["limited-by-host", "interference", "sliding"])
def test_what_is_not_in_the_flash_is_named_only_where_something_showed_it(cause: Cause) -> None:
    said = shares(0.01, **{cause: 0.95})
    (sign, *_) = sorted(table().shown[cause])
    assert table().named(said, {sign}, has_temp=True) == (cause, 0.95)
    assert table().named(said, set(), has_temp=True) == ("unknown", 0.0)


def test_what_shows_a_cause_speaks_of_it() -> None:
    judged = table("judgement")
    for cause, pairs in judged.shown.items():
        for pair in pairs:
            assert judged.weights[pair][CAUSES.index(cause)] != 0


def test_the_fitted_table_has_every_row_of_the_judged_one() -> None:
    assert set(table("weights").weights) >= set(ROWS)


@given(st.sets(st.sampled_from(ROWS)))
def test_shares_are_a_distribution_over_all_causes_and_one_more(
    pairs: set[tuple[str, str]],
) -> None:
    shares = table().shares(pairs)
    assert set(shares) == {*CAUSES, OTHER}
    assert sum(shares.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in shares.values())


@given(st.sets(st.sampled_from(ROWS)))
def test_a_drive_that_counted_its_throttling_is_likelier_to_throttle(
    pairs: set[tuple[str, str]],
) -> None:
    without = table().shares(pairs - {("thermal-counters", "rose")})
    rose = table().shares(pairs | {("thermal-counters", "rose")})
    assert rose["thermal"] >= without["thermal"]


@given(st.sets(st.sampled_from(ROWS)))
def test_reads_are_never_slowed_by_a_cache_or_spare_area(pairs: set[tuple[str, str]]) -> None:
    others = {pair for pair in pairs if pair[0] in ("temperature-course", "shape", "end")}
    shares = table().shares({("load", "reads"), *others})
    assert shares["write-cache"] + shares["spare-area"] < 0.1


def test_a_table_survives_being_written_down() -> None:
    rules = table()
    rows = as_toml(rules)
    assert set(rows) == {"prior", *(about for about, _ in rules.weights)}


def test_the_fit_finds_what_findings_are_worth() -> None:
    chance = np.random.default_rng(5)
    random, sequential = ("load", "random-writes"), ("load", "sequential-writes")
    drops = []
    for _ in range(600):
        cause = "spare-area" if chance.random() < 0.5 else "write-cache"
        is_random = chance.random() < (0.9 if cause == "spare-area" else 0.1)
        drops.append(({random if is_random else sequential}, cause))
    rules = fit_weights(drops, replace(table("judgement"), judged=frozenset()))
    assert rules.shares([random])["spare-area"] == pytest.approx(0.9, abs=0.06)
    assert rules.shares([sequential])["write-cache"] == pytest.approx(0.9, abs=0.06)
    assert rules.shares([random])[OTHER] == pytest.approx(UNFORESEEN, abs=0.03)


def test_the_fit_never_turns_a_finding_against_what_it_speaks_for() -> None:
    held = ("temperature-course", "held")
    rules = fit_weights([({held}, "spare-area")] * 300, table("judgement"))
    assert rules.weights[held][CAUSES.index("thermal")] >= 0


def test_the_fit_keeps_what_no_drop_shows() -> None:
    judged = table("judgement")
    rules = fit_weights([({("shape", "slide")}, "sliding")], judged)
    unseen = ("power-state", "lowered")
    assert rules.weights[unseen] is judged.weights[unseen]


def test_what_the_corpus_cannot_show_is_not_fitted() -> None:
    judged = table("judgement")
    kept = COUNTED
    assert kept[0] in judged.judged
    fitted = fit_weights(
        [([kept], "write-cache")] * 200 + [([("shape", "step")], "thermal")] * 200, judged
    )
    assert fitted.weights[kept].tolist() == judged.weights[kept].tolist()
    for pair, row in table("weights").weights.items():
        if {pair[0], ": ".join(pair)} & judged.judged:
            assert row.tolist() == judged.weights[pair].tolist()


def test_what_a_log_leaves_open_is_averaged_over_what_it_may_be() -> None:
    rules = table()
    ways = [rules.shares([("load", way)]) for way in ("random-writes", "sequential-writes")]
    for cause, share in rules.shares([("load", "writes")]).items():
        assert share == pytest.approx(sum(way[cause] for way in ways) / 2)


def test_reads_are_likelier_slowed_by_heat_than_writes_of_unknown_order() -> None:
    rules = table()
    hot = [("onset-temperature", "hot"), ("temperature-course", "held")]
    reads = rules.shares([("load", "reads"), *hot])
    writes = rules.shares([("load", "writes"), *hot])
    assert writes["thermal"] < reads["thermal"]
