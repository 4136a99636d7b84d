"""``heatsoak compare`` as a user meets it: tables, JSON, exit codes."""

import json
import shutil
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak, heatsoak_here, json_here
from compared import READ, falling, run, steady
from heatsoak.comparison import compare
from heatsoak.importer import import_files
from heatsoak.output import Console
from heatsoak.report.comparison import print_comparison
from heatsoak.words import number_text
from paged import page_of

CONTRACT = {"metric", "step", "group", "baseline", "value", "delta_pct", "ci95_pct", "runs"}


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A directory with a recording of a bare drive and one of it under a heatsink."""
    run({"heatsink": "none"}, falling(60, 0.5), seed=1).save(tmp_path / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2).save(tmp_path / "r" / "cooled")
    return tmp_path


def shown(words: Sequence[str], cwd: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json_here("compare", *words, cwd=cwd)
    return rows


def test_json_is_one_list_of_the_promised_keys(pair: Path) -> None:
    rows = shown(["r", "--by", "heatsink"], pair)
    assert all(row.keys() >= CONTRACT for row in rows)
    assert all(len(row["ci95_pct"]) == 2 for row in rows)
    (mean,) = [row for row in rows if row["metric"] == "mean_mb_s"]
    assert (mean["step"], mean["group"], mean["baseline_group"]) == ("read", "big", "none")
    assert mean["runs"] == 1
    expected = 100 * (mean["value"] - mean["baseline"]) / mean["baseline"]
    assert mean["delta_pct"] == pytest.approx(expected)
    assert mean["delta_pct"] == pytest.approx(100 * (2000 / 1200 - 1), abs=2)
    (onset,) = [row for row in rows if row["metric"] == "onset_s"]
    assert (onset["value"], onset["delta_pct"]) == (None, None)
    assert onset["value_at_least"] == pytest.approx(300)


@pytest.mark.slow
def test_the_table_says_what_is_compared(pair: Path) -> None:
    done = heatsoak("compare", "r", "--by", "heatsink", "--baseline", "none", cwd=pair)
    assert done.returncode == 0, done.stderr
    assert "\n\nheatsink: big compared with none\n" in done.stdout
    assert "+ means more" in done.stdout
    assert "note: one run each: nothing tells" in done.stdout
    (onset,) = [line for line in done.stdout.splitlines() if line.startswith("falls after, s")]
    assert "> 300" in onset
    assert onset.rstrip().endswith("one run")
    assert "With heatsink big, one run each: sequential reads 66 % faster" in done.stdout


def test_screen_page_markdown_and_csv_show_the_same_numbers(tmp_path: Path) -> None:
    recordings = [
        run({"heatsink": sink}, falling(50 + 5 * n, 0.4, level), seed=level + n, temp_c=40 + n)
        for sink, level in (("none", 2000), ("a|b", 2300))
        for n in range(3)
    ]
    for number, one in enumerate(recordings):
        one.save(tmp_path / str(number))
    words = ["compare", *"012345", "--by", "heatsink"]
    screen = heatsoak_here(*words, cwd=tmp_path).stdout
    for name in ("t.md", "t.csv", "t.html"):
        done = heatsoak_here(*words, "-o", name, cwd=tmp_path)
        assert done.stdout.startswith(screen.partition(".")[0])
        assert "falls after" not in done.stdout.partition("\n")[2]
    page = page_of(recordings, by="heatsink").comparisons[0]
    numbers = pl.read_csv(tmp_path / "t.csv")
    table = (tmp_path / "t.md").read_text("utf-8").replace("\\|", "/").splitlines()
    lines = [[cell.strip() for cell in line.split(" | ")] for line in table[4:]]
    assert len(numbers) == len(lines) == len(page.shown) > 5
    for line, of_csv, at in zip(lines, numbers.iter_rows(named=True), page.shown, strict=True):
        told = page.told[at]
        assert line[1:6] == [told.title, "a/b", told.baseline, told.value, told.change]
        assert number_text(of_csv["value"]) == told.value
        assert (of_csv["low"] is None) == (told.interval == "")
        assert told.change in screen
        assert told.interval in screen


def test_a_page_shows_what_was_asked_for_and_json_stays_the_rows(tmp_path: Path) -> None:
    for n, (sink, model) in enumerate([("none", "A"), ("big", "A"), ("none", "B"), ("big", "B")]):
        drive = {"model": model, "serial": model}
        run({"heatsink": sink}, steady(1000 + 100 * n), seed=n, drive=drive).save(tmp_path / str(n))
    words = ["compare", *"0123", "--by", "heatsink", "--format", "json", "--pool-models"]
    pooled = heatsoak_here(*words, cwd=tmp_path).stdout
    assert heatsoak_here(*words, "-o", "c.html", cwd=tmp_path).stdout == pooled
    apart, whole = (
        json.loads(text)[0]["summary"]
        for text in (heatsoak_here(*words[:-1], cwd=tmp_path).stdout, pooled)
    )
    page = (tmp_path / "c.html").read_text("utf-8")
    assert whole in page
    assert apart not in page


def test_three_groups_are_ranked(tmp_path: Path) -> None:
    for number, slot in enumerate(("bottom", "top", "upright")):
        run({"slot": slot}, steady(1000 + 300 * number), seed=number).save(tmp_path / slot)
    done = heatsoak_here("compare", *("bottom", "top", "upright"), "--by", "slot", cwd=tmp_path)
    table = done.stdout.split("Rank by end level")[1]
    rows = [line.split() for line in table.splitlines() if "(1-3)" in line]
    assert [line[line.index("(1-3)") + 1] for line in rows] == ["upright", "top", "bottom"]
    assert "first one given" in done.stdout


def test_each_set_of_other_conditions_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    for number, (slot, gpus) in enumerate([("a", 1), ("a", 2), ("b", 1), ("b", 2)]):
        run({"slot": slot, "gpus": gpus}, steady(1000), seed=number).save(tmp_path / str(number))
    words = ["compare", *"0123", "--by", "slot"]
    assert "b gpus 2" not in heatsoak_here(*words, cwd=tmp_path).stdout
    assert "b gpus 2" in heatsoak_here(*words, "--each", cwd=tmp_path).stdout


def test_what_was_not_run_alike_is_exit_code_2_with_a_line_for_each_two(tmp_path: Path) -> None:
    run({"heatsink": "none"}, steady(1000)).save(tmp_path / "bare")
    for number, depth in enumerate((1, 4)):
        steps = [{**READ, "iodepth": depth}]
        run({"heatsink": "big"}, steady(1000), steps=steps).save(tmp_path / f"cooled-{number}")
    words = ["compare", "bare", "cooled-0", "cooled-1", "--by", "heatsink"]
    done = done_here(*words, cwd=tmp_path, code=2)
    assert done.stdout == ""
    first, second, last = done.stderr.splitlines()
    assert first == "heatsoak: bare and cooled-0: iodepth is 32 and 1 in 'read'"
    assert second == "heatsoak: bare and cooled-1: iodepth is 32 and 4 in 'read'"
    assert "--anyway" in last

    anyway = done_here(*words, "--anyway", "--format", "json", cwd=tmp_path)
    assert anyway.stderr.count("warning: runs differ") == 2
    assert all(row["caveats"] for row in json.loads(anyway.stdout))


def test_logs_of_other_tools_are_compared_too(tmp_path: Path) -> None:
    for name, rate in (("a", 1000), ("b", 1200)):
        lines = ["time_s,read_mb_s", *(f"{i},{rate + i % 7}" for i in range(1, 301))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (held,) = import_files([tmp_path / f"{name}.csv"], conditions={"heatsink": name})
        held.save(tmp_path / name)
    rows = shown(["a", "b", "--by", "heatsink", "--baseline", "a"], tmp_path)
    (mean,) = [row for row in rows if row["metric"] == "mean_mb_s"]
    assert mean["delta_pct"] == pytest.approx(20, abs=0.1)
    assert shown(["a.csv", "b.csv", "--by", "file"], tmp_path)[0]["group"] == "b"
    for name in ("none", "finned"):
        (tmp_path / name).mkdir()
        shutil.copy(tmp_path / f"{'ab'[name == 'finned']}.csv", tmp_path / name / "log.csv")
    (mean,) = [
        row
        for row in shown(["none/log.csv", "finned/log.csv", "--by", "file"], tmp_path)
        if row["metric"] == "mean_mb_s"
    ]
    assert (mean["baseline_group"], mean["group"]) == ("none/log.csv", "finned/log.csv")
    assert mean["delta_pct"] == pytest.approx(20, abs=0.1)
    # a file by itself says nothing of its conditions
    complaint(heatsoak_here("compare", "a.csv", "--by", "heatsink", cwd=tmp_path), 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["r", "--by", "heatsnk"], "did you mean 'heatsink'"),
        (["r", "--by", "heatsink", "--baseline", "bare"], "there are none, big"),
        (["r/bare", "--by", "heatsink"], "all recordings have heatsink 'none'"),
        (["r", "--by", "heatsink", "--rank-by", "speed"], "not a metric to rank by"),
        (["nowhere", "--by", "heatsink"], "no such file"),
        (["r"], "--by"),
    ],
)
def test_a_wrong_word_is_one_line(pair: Path, words: Sequence[str], said: str) -> None:
    assert said in complaint(heatsoak_here("compare", *words, cwd=pair), 2)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("width", "letters"), [(60, 10), (60, 120), (80, 60), (120, 120)])
def test_tables_hold_in_narrow_terminals_and_with_long_names(
    groups: int, width: int, letters: int
) -> None:
    names = [
        f"{'Noctua with a long duct ' * 6}"[: letters - 6] + f" rev {n}" for n in range(groups)
    ]
    recordings = [
        run({"heatsink": name}, falling(50.0 + 30 * n, 0.4 + 0.1 * n), seed=n)
        for n, name in enumerate(names)
    ]
    written = StringIO()
    console = Console(width=width, file=written)
    print_comparison(compare(recordings, "heatsink"), console)
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    start = next(n for n, line in enumerate(lines) if line.startswith("read  "))
    table = lines[start : lines.index("", start)]
    # every group can be told from the others, and nothing is cut off but names
    assert all(any(line.count(f"{n}") for line in table) for n in range(groups))
    text = " ".join(table)
    assert "+25.5 %" in text
    assert "one run" in text
    assert "change" in text
    assert "difference" in text
    # names lose their middle; nothing else is cut
    assert all(line.find("…") < width // 2 for line in table[2:])
