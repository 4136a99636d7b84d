"""Protocols made smaller: every bundled one stays valid, and the laws that sizes and times keep."""

import math

import pytest
from heatsoak.errors import UsageError
from heatsoak.protocol import (
    Copy,
    Pause,
    Protocol,
    Replay,
    Rounds,
    ScoreRule,
    SingleStep,
    WorkloadStep,
    bundled,
    load,
    scaled,
)
from heatsoak.protocol.source import MIN_BLOCKS, MIN_ROUND_RUNTIME_S, MIN_RUNTIME_S
from heatsoak.units import GB, GIB
from hypothesis import given, settings
from hypothesis import strategies as st

#: Nothing of it gets near a floor at the shares drawn below.
LONG = Protocol.model_validate(
    {
        "name": "long",
        "file_size": "64GiB",
        "steps": [
            {
                **{"kind": "workload", "name": "write", "rw": "write", "bs": "128k"},
                **{"span": "64GiB", "offset": "4GiB", "io_size": "512GiB"},
                **{"runtime": "10h", "end_after_drop": "1h"},
            },
            {"kind": "pause", "duration": "2h", "until_temp_c": 35},
            {"kind": "replay", "name": "trace", "trace": "heavy"},
            {
                "kind": "rounds",
                "at_most": 100,
                "steps": [{"name": "inner", "rw": "randwrite", "runtime": "1h"}],
            },
        ],
        "scores": [
            {
                "name": "end",
                "metric": "iops",
                "steps": "write",
                "last": "1h",
                "definition": "The last hour.",
            }
        ],
    }
)

shares = st.floats(0.1, 1.0)


def singles(protocol: Protocol) -> list[SingleStep]:
    found: list[SingleStep] = []
    for step in protocol.steps:
        if not isinstance(step, Copy):
            found += step.steps if isinstance(step, Rounds) else [step]
    return found


def quantities(protocol: Protocol) -> list[tuple[float, float]]:
    """Every size and time with what rounding may add to it: a block of 4 KiB, or one round."""
    found: list[tuple[float, float]] = [((protocol.file_size.bytes or 0), 8192)]
    found += [(step.size_bytes or step.at_most_bytes or 0, 8192) for step in protocol.copies]
    for step in singles(protocol):
        if isinstance(step, WorkloadStep):
            for size in (step.span, step.offset, step.io_size):
                if size is not None and size.bytes is not None:
                    found.append((size.bytes, 8192))
            found += [(step.runtime_s or 0, 1e-6), (step.end_after_drop_s or 0, 1e-6)]
        elif isinstance(step, Pause):
            found.append((step.duration_s, 1e-6))
        elif isinstance(step, Replay):
            found.append((step.scale, 1e-12))
    found += [(rounds.at_most, 1.0) for rounds in protocol.rounds]
    found += [(score.last_s or 0, 1e-6) for score in protocol.scores]
    return found


@settings(deadline=None, max_examples=40)
@given(one=shares, two=shares)
def test_scaled_twice_is_scaled_by_the_product_where_nothing_meets_a_floor(
    one: float, two: float
) -> None:
    twice, at_once = scaled(scaled(LONG, one), two), scaled(LONG, one * two)
    assert twice.scale == pytest.approx(at_once.scale)
    assert len(twice.notes) <= 1
    for (a, slack), (b, _) in zip(quantities(twice), quantities(at_once), strict=True):
        assert abs(a - b) <= slack


@settings(deadline=None, max_examples=40)
@given(larger=st.floats(1e-6, 1.0), smaller=st.floats(1e-6, 1.0))
def test_a_smaller_share_is_nowhere_larger_and_nothing_gets_too_small_to_be_measured(
    larger: float, smaller: float
) -> None:
    smaller, larger = sorted((smaller, larger))
    small, large = scaled(LONG, smaller), scaled(LONG, larger)
    of = (quantities(one) for one in (small, large, LONG))
    for (a, _), (b, _), (whole, _) in zip(*of, strict=True):
        assert a <= b <= whole
        assert (a > 0) == (whole > 0)
    write = small.steps[0]
    assert isinstance(write, WorkloadStep)
    assert write.runtime_s is not None
    assert write.runtime_s >= MIN_RUNTIME_S
    assert write.span.bytes is not None
    assert write.span.bytes >= MIN_BLOCKS * write.bs
    assert write.span.bytes % 4096 == 0


@pytest.mark.parametrize("name", bundled())
@pytest.mark.parametrize("share", [0.001, 0.03])
def test_every_bundled_protocol_gets_smaller_and_stays_valid(name: str, share: float) -> None:
    whole, small = load(name), scaled(load(name), share)
    assert Protocol.model_validate_json(small.model_dump_json()) == small
    assert [step.name for step in small.steps] == [step.name for step in whole.steps]
    assert small.scale == share
    assert "not results of " + name in small.notes[-1]
    for before, after in zip(singles(whole), singles(small), strict=True):
        if isinstance(before, WorkloadStep) and isinstance(after, WorkloadStep):
            assert (after.rw, after.bs, after.iodepth) == (before.rw, before.bs, before.iodepth)
            if before.runtime_s is not None and after.runtime_s is not None:
                least_s = MIN_ROUND_RUNTIME_S if small.rounds else MIN_RUNTIME_S
                wanted_s = max(before.runtime_s * share, min(before.runtime_s, least_s))
                assert after.runtime_s == pytest.approx(wanted_s)
            if before.span.bytes is not None:
                assert (after.span.bytes or 0) < before.span.bytes
            else:
                assert after.span == before.span
    # windows of scores stay within their steps
    runtimes = {
        step.name: step.runtime_s for step in singles(small) if isinstance(step, WorkloadStep)
    }
    for score in small.scores:
        for step in score.steps:
            assert (score.last_s or 0) <= (runtimes.get(step) or math.inf)


@pytest.mark.parametrize("name", bundled())
def test_what_is_filled_stays_what_is_worked_on_and_fits_its_file(name: str) -> None:
    whole, small = load(name), scaled(load(name), 0.0001)
    spans: dict[int, set[int]] = {}
    for before, after in zip(singles(whole), singles(small), strict=True):
        if not (isinstance(before, WorkloadStep) and isinstance(after, WorkloadStep)):
            continue
        if before.span.bytes is not None and after.span.bytes is not None:
            spans.setdefault(before.span.bytes, set()).add(after.span.bytes)
    assert all(len(made) == 1 for made in spans.values())
    if small.file_size.bytes is not None:
        assert max((n for made in spans.values() for n in made), default=0) <= small.file_size.bytes


def test_rounds_get_fewer_unless_they_end_when_they_are_steady() -> None:
    (rounds,) = scaled(load("snia-pts"), 0.001).rounds
    assert rounds.at_most == 25
    fixed = {"kind": "rounds", "at_most": 4, "steps": [{"name": "a", "rw": "read"}]}
    protocol = Protocol.model_validate({"name": "x", "steps": [fixed]})
    assert scaled(protocol, 0.001).rounds[0].at_most == 1


def test_the_whole_is_itself_and_no_share_is_an_error() -> None:
    protocol = load("quick")
    assert scaled(protocol, 1) is protocol
    for wrong in (0.0, -0.5, 1.5, math.nan):
        with pytest.raises(UsageError, match="give a share above 0 and up to 1"):
            scaled(protocol, wrong)


def test_a_published_file_of_16_gb_becomes_as_small() -> None:
    small = scaled(load("anandtech-random-write"), 0.01)
    assert small.file_size.bytes == 16 * GB // 100 // 4096 * 4096
    assert load("quick").file_size.bytes == 4 * GIB


def test_a_score_that_no_step_can_give_is_refused() -> None:
    fields = {"name": "a", "steps": ["x"], "definition": "d"}
    for wrong, said in (
        ({"metric": "service_us", "statistic": "stdev"}, "it needs metric"),
        ({"metric": "energy_j", "while_busy": True}, "while_busy is only for"),
        ({"metric": "duration_s", "last": "5s"}, "last is for"),
    ):
        with pytest.raises(ValueError, match=said):
            ScoreRule.model_validate({**fields, **wrong})
