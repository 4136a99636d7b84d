"""What comes from outside is shown as text: nothing in it acts on a terminal or a spreadsheet."""

import json
import os
import re
import unicodedata
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import complaint, heatsoak_here
from heatsoak.output import Console, Text, json_text, printable
from heatsoak.recording import Event, Recording
from hypothesis import given
from hypothesis import strategies as st
from made_recording import make_recording, remake
from streams import Streams, call_on

#: Sets a terminal's title; turns the direction of what follows; is rich's markup; ends a line.
TITLE = "\x1b]0;pwned\x07"
C1 = "\x9b31m\x85"
TURNED = "\u202egpj\u2066"
MARKUP = "[red]r[/red][link=x]k[/link]:smiley:"
BROKEN = "one\ntwo\rthree\u2028four"
HOSTILE = f"{TITLE}{C1}{TURNED}{MARKUP}{BROKEN}\x7f"
#: What rich itself writes: colours, and moves of the cursor.
OWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def samples(step: str = "load") -> pl.DataFrame:
    t_s = np.arange(1, 601) * 0.1
    rate = np.where(t_s < 30, 500.0, 200.0) + 5 * np.sin(t_s * 7)
    return pl.DataFrame(
        {"t_s": t_s, "step": [step] * 600, "interval_s": [0.1] * 600, "write_bw_mb_s": rate}
    )


def hostile_recording(path: Path, slot: str = MARKUP) -> Recording:
    """A recording in which everything that is text is hostile."""
    step = f"=load{HOSTILE}"
    recording = make_recording(
        path,
        samples(step),
        rw="write",
        serial=f"@serial{HOSTILE}",
        conditions={"slot": slot, f"=key{HOSTILE}": f"=value{HOSTILE}", "cold": "-5", "bad": "-a"},
    )
    meta = json.loads((path / "recording.json").read_text())
    meta["drive"]["model"] = f"=model{HOSTILE}"
    meta["protocol"]["description"] = f"=protocol{HOSTILE}"
    meta["status"], meta["reason"] = "failed", f"=reason{HOSTILE}"
    with (path / "events.jsonl").open("a") as events:
        event = Event(t_s=50.0, kind="warning", step=step, text=f"warned: {HOSTILE}")
        events.write(event.model_dump_json() + "\n")
    return remake(recording.path, **meta)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shown")
    hostile_recording(root / f"one{TITLE}{TURNED}", "top")
    hostile_recording(root / f"two{C1}{MARKUP.replace('/', '')}", "bottom")
    return root


def acting(text: str) -> set[str]:
    """Characters that do something to a terminal."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


def in_terminal(*words: str, cwd: Path) -> str:
    """What a command writes to a terminal, both streams."""
    wide = {"TERM": "xterm-256color", "COLUMNS": "400"}
    done = call_on(Streams("terminal", "terminal", wide), words, cwd)
    return (done.stdout + done.stderr).replace("\r\n", "\n")


COMMANDS = [
    ("analyze", "."),
    ("compare", ".", "--by", "slot", "--anyway"),
    ("export", ".", "-o", "-", "--as", "csv"),
    ("export", ".", "-o", "-", "--as", "openmetrics"),
    ("analyze", ".", "--format", "json"),
    ("compare", ".", "--by", "slot", "--anyway", "--format", "json"),
    ("export", ".", "-o", "{out}/fio", "--as", "fio-plot"),
    ("report", ".", "-o", "{out}/page.html"),
    ("report", ".", "-o", "{out}/table.csv"),
    ("analyze", f"gone{HOSTILE}"),
    (f"no-command{HOSTILE}",),
    ("run", f"no-protocol{HOSTILE}", "--on", "sim:samsung-950-pro-512"),
    ("run", "quick", "--on", f"sim:{HOSTILE}"),
    ("run", "quick", "--on", "sim:samsung-950-pro-512", "--dry-run", "--set", f"x={HOSTILE}"),
    ("lab", "trace", f"gone{HOSTILE}"),
    ("report", ".", "-o", f"no-suffix{HOSTILE}"),
]


@pytest.mark.slow
def test_no_command_lets_what_it_shows_act_on_whoever_reads_it(shown: Path, tmp_path: Path) -> None:
    for words in COMMANDS:
        done = heatsoak_here(*(word.format(out=tmp_path / "a") for word in words), cwd=shown)
        assert "Traceback" not in done.stderr
        assert acting(done.stdout) == set(), words
        assert acting(done.stderr) == set(), words
        if done.returncode == 2:
            complaint(done, 2)
    text = heatsoak_here("analyze", ".", cwd=shown).stdout.replace("\n", "")
    for as_it_is in ("\\x1b]0;pwned\\x07", MARKUP, "one\\ntwo\\rthree\\u2028four"):
        assert as_it_is in text


@pytest.mark.slow
def test_a_terminal_only_gets_our_own_colours(shown: Path, tmp_path: Path) -> None:
    for words in COMMANDS[:3] + COMMANDS[7:11]:
        text = in_terminal(*(word.format(out=tmp_path / "b") for word in words), cwd=shown)
        assert text
        assert TITLE not in text
        assert acting(OWN.sub("", text)) - {"\r"} == set()
        assert "\x1b]" not in text


@pytest.mark.slow
def test_a_live_run_shows_labels_and_protocols_as_text(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        f'name = "p"\n[[steps]]\nname = {json.dumps(TITLE + MARKUP)}\n'
        'rw = "write"\nbs = "128k"\nruntime = "20s"\n'
    )
    words = ("run", "p.toml", "--on", "sim:samsung-950-pro-512", "-o", "out")
    text = in_terminal(*words, "--set", f"x={TITLE}{MARKUP}", cwd=tmp_path)
    assert TITLE not in text
    assert "\x1b]" not in text
    assert acting(OWN.sub("", text)) - {"\r"} == set()
    assert MARKUP in text.replace("\n", "")


def test_json_and_names_that_are_not_utf8_say_the_same_and_do_nothing_to_a_terminal() -> None:
    document = {HOSTILE: [HOSTILE, "größe 4 °C", "\U000e0001", "\udcff"]}
    text = json_text(document)
    assert acting(text) == set()
    assert json.loads(text) == document
    assert "größe 4 °C" in text
    assert printable(os.fsdecode(b"a\xff\xfe")) == "a\\xff\\xfe"
    assert printable("größe\u00a04\u202f°C") == "größe\u00a04\u202f°C"


@given(st.text())
def test_whatever_is_made_printable_is_one_line_without_controls(text: str) -> None:
    shown = printable(text)
    assert acting(shown) == set()
    assert "\n" not in shown
    assert printable(shown) == shown


@given(st.text(st.characters(), max_size=30))
def test_whatever_is_put_into_a_table_or_text_stays_one_line_of_text(text: str) -> None:
    from io import StringIO

    from rich.table import Table

    screen = StringIO()
    console = Console(
        file=screen,
        force_terminal=True,
        width=4000,
        color_system=None,
        _environ={"TERM": "xterm"},  # a dumb terminal has 80 columns
    )
    table = Table(text, box=None)
    table.add_row(text)
    table.add_row(Text(text).append(text))
    console.print(table)
    console.print(text, soft_wrap=True)
    assert acting(OWN.sub("", screen.getvalue())) == set()
    assert screen.getvalue().count("\n") == 4


def test_what_a_message_quotes_of_a_file_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "drive.toml").write_text(f'model = "{"x" * 300_000}"\n{"y" * 300_000} = 1\n')
    for words in (
        ("run", "quick", "--on", "sim:drive.toml"),
        ("run", "quick", "--on", f"sim:{'z' * 100_000}"),
        ("analyze", "a" * 100_000),
    ):
        said = complaint(heatsoak_here(*words, cwd=tmp_path), 2)
        assert len(said) < 3000
