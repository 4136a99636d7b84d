"""The answer, the table, the page, test servers' results and the exit code say the same."""

import io
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.analysis.answer import why_failed
from heatsoak.analysis.names import names_of
from heatsoak.recording import Recording
from heatsoak.report.files import findings_table
from heatsoak.report.outcomes import write_junit
from made_recording import held, sampled
from made_series import line, lost, low, of_parts, swing
from paged import page_of


def drawn(seed: int) -> Recording:
    """A recording of two steps, each slow or not, with a temperature or without."""
    rng = np.random.default_rng([seed, 58])
    frames, start_s = [], 0.0
    with_temp = rng.random() < 0.7
    for step in ("first", "second"):
        onset_s, left = rng.uniform(0, 200), rng.uniform(0.1, 0.9)
        shapes = (
            lost(onset_s, 1 - left),
            lost(onset_s, 1 - left, 20.0),
            low((onset_s, onset_s + 40), to=left),
            swing(onset_s, 20.0, to=left),
            line((0, 1), (300, left)),
            line((0, 1)),
        )
        shape = shapes[rng.integers(len(shapes))]
        rates = of_parts(shape, duration_s=float(rng.choice([8, 300])), sampling_s=1.0).values
        more: dict[str, Any] = {}
        if with_temp:
            low_c, high_c = rng.uniform(30, 75), rng.uniform(40, 90)
            more["temp_c__composite"] = np.linspace(low_c, high_c, len(rates)).round()
        more["throttle_count__t"] = np.arange(len(rates)) // 40 * int(rng.random() < 0.2)
        frames.append(sampled(rates, step=step, start_s=start_s, sigma=0.001, **more))
        start_s += len(rates) + rng.uniform(0, 600)
    return held(pl.concat(frames), rw="write", bs="128k")


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.long)])
def test_all_say_the_same_of_a_recording(count: int) -> None:
    said = set()
    for seed in range(count):
        recording = drawn(seed)
        found = analyze([recording])
        (one,) = found.recordings
        claims = [step.claim for step in one.steps]
        heat = {claim.heat for claim in claims}
        answer = found.answer
        said.add(answer.throttles)
        assert (answer.throttles == "yes") == ("yes" in heat), seed
        assert (answer.throttles == "cannot-tell") >= ("open" in heat and "yes" not in heat), seed
        names = names_of([recording])
        file = io.BytesIO()
        write_junit(found, names, file)
        root = ElementTree.fromstring(file.getvalue())
        failed = {
            case.get("name") for case in root.iter("testcase") if case.find("failure") is not None
        }
        assert failed == {claim.step for claim in claims if claim.heat == "yes"}, seed
        assert bool(failed) <= bool(why_failed(one, "throttle", None)), seed
        assert (answer.throttles == "cannot-tell") <= bool(why_failed(one, "unknown", None)), seed
        rows = findings_table(found, names).select("step", "heat").unique()
        assert dict(rows.iter_rows()) == {claim.step: claim.heat for claim in claims}, seed
        if seed < 20:
            assert page_of([recording]).headline.text == answer.sentence, seed
    assert said >= {"yes", "no", "cannot-tell"}
