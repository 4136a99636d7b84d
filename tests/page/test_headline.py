"""The answer in a sentence, for what people bring."""

from pathlib import Path

import numpy as np
from compared import falling, run, steady
from heatsoak.analysis import analyze
from heatsoak.importer import Options, open_all
from heatsoak.recording import InMemoryRecording
from paged import page_of


def hot(
    conditions: dict[str, object], onset_s: float, share: float, seed: int
) -> InMemoryRecording:
    return run(conditions, falling(onset_s, share), seed=seed, temp_c=60.0)


def test_several_places_name_the_worst_in_plain_words() -> None:
    recordings = [
        hot({"slot": "top", "gpus": 2, "gpu_load": "loaded"}, 30, 0.3, 1),
        hot({"slot": "upright", "gpus": 1, "gpu_load": "idle"}, 90, 0.7, 2),
        run({"slot": "bottom", "gpus": 1, "gpu_load": "idle"}, steady(2000), seed=3),
    ]
    page = page_of(recordings)
    assert page.headline.text == "Heat slows the drive in 2 of 3 recordings."
    assert page.headline.more[0].startswith("In the top slot with 2 cards under load: 'read' fell")
    told = [one.text for one in page.headline.figures]
    assert told == ["70 %", "after 30 s", "68 C"]
    assert page.headline.of == page.recordings[0].label == "top, 2 cards, loaded"
    assert page.title == "a drive: x, 3 runs by slot, gpus and gpu load"
    (row,) = page.workloads
    assert row.summary.startswith("2 of 3 ")
    assert "by 30 to 70 %" in row.summary


def test_recordings_that_can_be_compared_have_the_difference_at_the_top() -> None:
    recordings = [hot({"slot": "top"}, 30, 0.3, 1), run({"slot": "bottom"}, steady(2000), seed=3)]
    head = page_of(recordings).headline
    assert head.text.startswith("In the bottom slot rather than the top slot, one run each: ")
    assert head.tone == "good"
    assert head.more[0] == "The baseline falls after 30 s."
    assert " ".join(head.more[2:4]) == analyze(recordings).answer.sentence


def test_a_page_of_three_groups_says_their_range() -> None:
    rates = {"none": 1000, "A": 1200, "B": 1400}
    recordings = [
        run({"heatsink": name}, steady(rate), seed=n)
        for n, (name, rate) in enumerate(rates.items())
    ]
    page = page_of(recordings)
    (comparison,) = page.comparisons
    assert page.headline.text == comparison.summary.text
    assert page.headline.text == (
        "Of 3 heatsinks, one run each, B is fastest, 40 % above no heatsink; A lies between."
    )
    assert page.headline.tone == "good"


def test_page_and_command_give_the_same_answer_in_the_tone_that_it_has() -> None:
    places = [
        hot({"slot": "top", "gpus": 1}, 30, 0.3, 1),
        run({"slot": "bottom", "gpus": 2}, steady(2000), seed=3),
    ]
    tones = {"yes": "bad", "no": "good"}
    for recordings, words in (
        ([hot({}, 60, 0.5, 1)], ["'read' fell by 50 %, from 2,", "after 60 s", "MB/s"]),
        ([run({}, steady(2000))], ["Did not throttle: it held its speed, at 60 C at most."]),
        ([run({}, falling(60, 0.3))], []),
        ([run({}, falling(60, 0.5), temp_c=None)], []),
        ([run({}, steady(2000, 2))], ["Cannot tell whether it throttles: too short to judge"]),
        (places, []),
    ):
        head, answer = page_of(recordings).headline, analyze(recordings).answer
        assert f"{head.text} {answer.worst}".strip() == answer.sentence
        assert all(each in head.text for each in words)
        assert head.tone == tones.get(answer.throttles, "unsure")
    unknown = page_of([run({}, falling(60, 0.5), temp_c=None)]).headline.more
    assert any("No temperature was recorded" in more for more in unknown)


def test_recordings_that_were_cut_short_or_failed_say_so() -> None:
    cut = run({"n": 1}, steady(2000), status="running")
    failed = run({"n": 2}, steady(2000), seed=2, status="failed", reason="the drive vanished")
    more = page_of([cut, failed]).headline.more
    assert any("1 recording was cut short or is still running" in text for text in more)
    assert any("1 run failed before the end" in text for text in more)


def test_logs_of_other_tools_have_a_headline_too(tmp_path: Path) -> None:
    rows = [f"{second},{2000 if second < 120 else 900}" for second in range(1, 400)]
    (tmp_path / "log.csv").write_text("seconds,write_mb_s\n" + "\n".join(rows) + "\n")
    page = page_of(open_all([tmp_path / "log.csv"], Options.of(["time=seconds"], None)))
    assert "after 2 min" in page.headline.text or "after 119 s" in page.headline.text
    assert page.recordings[0].command is None


def test_only_latencies_are_enough_for_a_verdict() -> None:
    recording = run({}, steady(2000))
    samples = recording.samples()
    noise = np.random.default_rng(1).normal(0, 1, len(samples))
    late = (samples["t_s"].to_numpy() > 1100) * 200.0
    frame = samples.with_columns(read_lat_us=100 + noise + late).drop("read_bw_mb_s", "read_iops")
    meta = recording.meta.model_copy(update={"columns": dict.fromkeys(frame.columns, "Float64")})
    page = page_of([InMemoryRecording(Path("lat"), meta, frame, recording.events)])
    assert "µs an I/O" in page.headline.text
    assert page.workloads[0].lines[0].tracks[0].unit == "µs"
