"""Traces: made in a shape, counted, and held against the shape."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak import catalog
from heatsoak._core import Trace
from heatsoak.analysis.traces import compare_with_shape
from heatsoak.errors import UsageError
from test_catalog import ROOT, bare_numbers

SHAPES = ("destroyer", "heavy", "light")


def counted(name: str, scale: float, seed: int = 0) -> dict[str, Any]:
    trace = Trace.synthetic(catalog.load_trace(name).core_json(), scale, seed)
    found: dict[str, Any] = json.loads(trace.statistics())
    return found


def own_shape(path: Path, old: str, new: str) -> Path:
    text = (ROOT / "traces" / "light.toml").read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    return path


def test_every_number_of_a_shape_says_where_it_comes_from() -> None:
    for name in SHAPES:
        tables = tomllib.loads((ROOT / "traces" / f"{name}.toml").read_text("utf-8"))
        for row in ("sizes", "depths"):
            assert tables[row].pop("source")
            del tables[row]["pct"]
        assert list(bare_numbers(tables)) == []


def test_the_bundled_shapes_are_those_that_were_published() -> None:
    assert catalog.trace_ids() == list(SHAPES)
    destroyer = catalog.load_trace("destroyer")
    assert (destroyer.totals.reads.value, destroyer.totals.writes.value) == (38.83e6, 10.98e6)
    light = catalog.load_trace("light")
    assert light.ios == 372_630 + 459_709
    assert light.sizes.pct["128K"] == 26.4
    assert light.depths.pct["1"] == 73.4


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("scale", [1e-1, 1e-2, 1e-3, 1e-4])
def test_what_was_asked_holds_at_every_scale(name: str, scale: float) -> None:
    scale = scale / 10 if name == "destroyer" else scale
    rows = compare_with_shape(catalog.load_trace(name), counted(name, scale), scale)
    assert [row.name for row in rows if not row.holds] == []


@pytest.mark.long
@pytest.mark.slow
def test_at_full_size_every_figure_holds_within_a_hundredth() -> None:
    for name in ("light", "heavy"):
        rows = compare_with_shape(catalog.load_trace(name), counted(name, 1), 1)
        assert all(row.off_pct is not None and abs(row.off_pct) < 1 for row in rows)


def test_another_shape_s_trace_does_not_hold() -> None:
    rows = compare_with_shape(catalog.load_trace("light"), counted("heavy", 0.1), 0.1)
    missed = {row.name for row in rows if not row.holds}
    assert {"reads", "writes", "read_gib", "32K_pct", "1_pct", "sequential_pct"} <= missed


def test_a_trace_comes_in_pieces_as_it_comes_in_one() -> None:
    shape = catalog.load_trace("light").core_json()
    whole = Trace.synthetic(shape, 0.01, 3).take(10_000)
    pieces = Trace.synthetic(shape, 0.01, 3)
    taken = [pieces.take(1000) for _ in range(10)]
    assert whole.keys() == {"at_ns", "done_ns", "op", "offset", "bytes", "depth"}
    for name, column in whole.items():
        assert len(column) == 8323
        np.testing.assert_array_equal(column, np.concatenate([piece[name] for piece in taken]))


def test_statistics_use_a_trace_up_report_progress_and_end_where_that_raises() -> None:
    shape = catalog.load_trace("light").core_json()
    trace = Trace.synthetic(shape)
    seen: list[int] = []
    trace.statistics(progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == trace.ios == 832_339
    with pytest.raises(ValueError, match="was used up"):
        trace.statistics()

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trace.synthetic(shape).statistics(progress=stop)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"4K" = 27.6', '"4Q" = 27.6', "'4Q' is not a size"),
        ('"4-5" = 2.3', '"4-6" = 2.3', "'4-6' is not a class of depths"),
        ('"1" = 73.4', '"1" = 53.4', "depths: the shares have to make 1"),
        ("read_gb = { value = 17.97", "read_gb = { value = 170", "sizes: the shares make a mean"),
        ("{ value = 372630", "{ value = 372630.5", "totals.reads: must be a whole number"),
        ("{ value = 70,", "{ value = 170,", "addresses.sequential_pct: must be 0 to 100"),
        ("span_gb = { value = 32", "span_gb = { value = 0.001", "span_bytes: it has to be"),
        ("[pauses]", "[breaks]", "unknown key 'breaks'"),
    ],
)
def test_a_wrong_shape_is_one_line_that_says_what_is_wrong(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = own_shape(tmp_path / "mine.toml", old, new)
    line = complaint(heatsoak_here("lab", "trace", "mine.toml", "--check", cwd=tmp_path), 2)
    assert said in line
    assert path.name in line


@pytest.mark.slow
def test_an_own_shape_is_taken_wherever_an_id_is_with_its_provenance(tmp_path: Path) -> None:
    own_shape(tmp_path / "mine.toml", "{ value = 70,", "{ value = 20,")
    found = json_here("lab", "trace", "mine.toml", "--scale", "0.1", cwd=tmp_path)
    assert found["sequential"]["pct"]["all"] == pytest.approx(20, abs=0.1)
    own_shape(tmp_path / "mine.toml", 'source = "AnandTech, 2011 to 2015, IO size', 'x = "')
    with pytest.raises(UsageError, match="unknown key 'x' in sizes"):
        catalog.load_trace(str(tmp_path / "mine.toml"))


@pytest.mark.slow
def test_check_and_statistics_print_asked_and_got_as_the_articles_tables(tmp_path: Path) -> None:
    done = done_here("lab", "trace", "light", "--check", cwd=tmp_path)
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["reads", "372,630", "372,630", "0"] in lines
    assert "figures hold within 1 %" in done.stdout
    done = done_here("lab", "trace", "light", "--idle-limit", "10ms", cwd=tmp_path)
    lines = [line.split() for line in done.stdout.splitlines()]
    heading = ["I/O", "size,", "%", "<4K", "4K", "8K", "16K", "32K", "64K", "128K", "others"]
    assert heading in lines
    assert ["All", "6.2", "27.6", "2.4", "8", "6.5", "4.8", "26.4", "18.1"] in lines
    assert "limited to 10 ms each" in done.stdout
    for words in (("light", "--check"), ("light", "--idle-limit", "1000000s")):
        shown = heatsoak_here("lab", "trace", *words, "--scale", "1e-5", cwd=tmp_path).stdout
        assert ", scale 0.00001" in shown
        assert re.search(r"\de[+-]?\d", shown) is None  # no number has an exponent


@pytest.mark.slow
def test_check_fails_where_a_figure_does_not_hold(tmp_path: Path) -> None:
    # 64 I/Os reach the end of so small a span, and the next one cannot go on from there
    path = own_shape(tmp_path / "mine.toml", "span_gb = { value = 32", "span_gb = { value = 0.0084")
    text = path.read_text("utf-8")
    sizes = next(line for line in text.splitlines() if line.startswith('pct = { "<4K"'))
    for old, new in (
        (sizes, 'pct = { "128K" = 100 }'),
        ("value = 17.97", f"value = {372_630 / 8192}"),
        ("value = 23.25", f"value = {459_709 / 8192}"),
        ("sequential_pct = { value = 70", "sequential_pct = { value = 100"),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    document = json_here("lab", "trace", "mine.toml", "--check", cwd=tmp_path, code=1)
    assert [row["name"] for row in document["rows"] if not row["holds"]] == ["sequential_pct"]
    assert document["holds"] is False
    assert (
        "does not hold"
        in heatsoak_here("lab", "trace", "mine.toml", "--check", cwd=tmp_path).stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lite", "--check"), "lite: there is no such file or shape: shapes are destroyer"),
        (("nowhere.csv",), "nowhere.csv: there is no such file or shape"),
        (("light", "--idle-limit", "soon"), "'--idle-limit': 'soon' is not a time"),
        (("light", "--check", "--scale", "1e-8"), "of 832339 I/Os is less than one"),
    ],
)
def test_wrong_words_are_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in complaint(heatsoak_here("lab", "trace", *words, cwd=tmp_path), 2)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["fio3", "fio2", "msr", "blkparse"])
def test_a_trace_that_is_written_is_counted_as_it_was_made(tmp_path: Path, form: str) -> None:
    words = ("lab", "trace", "light", "-o", "t", "--scale", "0.01", "--as", form)
    done_here(*words, cwd=tmp_path)
    found, asked = json_here("lab", "trace", "t", cwd=tmp_path), counted("light", 0.01)
    for name in ("reads", "writes", "read_bytes", "write_bytes", "size_pct", "sequential", "span"):
        assert found[name] == asked[name]
    again = heatsoak_here("lab", "trace", "light", "-o", "t", cwd=tmp_path)
    assert "already exists" in complaint(again, 2)


@pytest.mark.parametrize("shape", ["destroyer", "heavy", "light"])
@pytest.mark.parametrize("limit_s", [0.025, 0.0005])
def test_the_idle_time_of_a_shape_is_known_before_it_is_made(shape: str, limit_s: float) -> None:
    asked = catalog.load_trace(shape)
    scale = min(1e6 / asked.ios, 1.0)
    made = Trace.synthetic(asked.core_json(), scale=scale)
    idle_s = json.loads(made.statistics(limit_s))["time"]["idle_left_s"]
    assert idle_s == pytest.approx(scale * asked.idle_s(limit_s), rel=0.05)
