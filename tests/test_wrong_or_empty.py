"""What a command line says that cannot be meant: it is refused, not silently ignored."""

import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
import tiny
from command import complaint, done_here, heatsoak, heatsoak_here
from made_recording import remake
from streams import ASCII_ONLY, InAscii, Streams

TABLE = "time,write_mb_s\n0,100\n1,100\n2,100\n3,100\n"
WARMTH = "time,temp_c.composite\n0,40\n1,41\n2,42\n3,42\n"
TWO_DRIVES = "time,device,write_mb_s\n" + "".join(
    f"{t},{name},100\n" for t in range(5) for name in ("sda", "sdb")
)


@pytest.fixture(scope="module")
def ground(small_drive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a protocol, a drive, a recording and a log."""
    root = tmp_path_factory.mktemp("wrong")
    (root / "tiny.toml").write_text(tiny.READ)
    (root / "log.csv").write_text(TABLE)
    (root / "warm.csv").write_text(WARMTH)
    shutil.copy(small_drive, root / "small.toml")
    done_here("run", "tiny.toml", "--on", "sim:small.toml", "-o", "rec", cwd=root)
    return root


#: Command lines with an empty word, and where it stands.
EMPTY = [
    ("run tiny.toml --on @", "--on is empty"),
    ("run tiny.toml --on=", "--on is empty"),
    ("run tiny.toml --on sim:small.toml --to @", "--to is empty"),
    ("run tiny.toml --on sim:small.toml -o @", "-o is empty"),
    ("run tiny.toml --on sim:small.toml --sensors @", "--sensors is empty"),
    ("run @ --on sim:small.toml", "the word after run is empty"),
    ("watch @", "the word after watch is empty"),
    ("analyze @", "the word after analyze is empty"),
    ("analyze rec @", "the word after rec is empty"),
    ("analyze rec --power @", "--power is empty"),
    ("report rec --output=", "--output is empty"),
    ("compare @ --by slot", "the word after compare is empty"),
    ("import @ -o new", "the word after import is empty"),
    ("import log.csv -o new --into @", "--into is empty"),
    ("export rec -o @", "-o is empty"),
    ("demo -o @", "-o is empty"),
    ("lab reproduce -o @", "-o is empty"),
    ("serve @", "the word after serve is empty"),
    ("lab nbd small.toml --socket @", "--socket is empty"),
    ("lab trace @", "the word after trace is empty"),
    ("lab trace light -o @", "-o is empty"),
]


def test_a_shell_variable_that_is_not_set_names_no_directory(ground: Path) -> None:
    before = sorted(ground.rglob("*"))
    for line, what in EMPTY:
        words = ["" if word == "@" else word for word in line.split()]
        said = complaint(heatsoak_here(*words, cwd=ground), 2)
        assert said.startswith(f"heatsoak: {what}: is a shell variable not set?")
        assert sorted(ground.rglob("*")) == before, line


#: Options that would do nothing, and what is said of them.
IDLE = [
    ("analyze rec --device nvme9", "--device nvme9: chooses a drive in logs that name"),
    ("analyze log.csv --device nvme9", "which log.csv does not: leave it out"),
    ("import log.csv -o new --device nvme9", "which log.csv does not: leave it out"),
    ("report rec -o new.html --map time=Zeit", "--map time=Zeit: names a column of a table"),
    ("compare rec log.csv --by drive --map power_w=W", "has no column 'W' for 'power_w'"),
    ("analyze rec --separate", "--separate: keeps other tools' logs apart, and a recording is"),
    ("compare rec rec --by drive --separate", "--separate: keeps other tools' logs apart"),
    ("report rec -o new.html --separate", "--separate: keeps other tools' logs apart"),
    ("analyze rec --separate --power log.csv", "--separate: keeps other tools' logs apart"),
    ("import log.csv -o new --into rec --separate", "no --separate"),
    ("analyze rec --shift 0", "--shift 0: shifts one log against another, and a recording is"),
    ("compare rec rec --by drive --shift -2.5", "--shift -2.5: shifts one log against another"),
    ("report rec -o new.html --shift 5", "--shift 5: shifts one log against another"),
    ("analyze log.csv --shift 5", "nothing here is laid beside another log: leave it out"),
    ("import log.csv -o new --shift 5", "nothing here is laid beside another log"),
    ("analyze rec log.csv --shift 5", "nothing here is laid beside another log"),
    ("analyze log.csv warm.csv --separate --shift 5", "and --separate joins none"),
    ("analyze rec --power log.csv", "log.csv: has no power"),
    ("run tiny.toml --on sim:small.toml --erase S1", "--erase S1: is for whole drives"),
    ("run tiny.toml --on . --erase S1", "--erase S1: is for whole drives"),
    ("analyze rec --fail-below -1", "'--fail-below'"),
    ("analyze rec --fail-below nan", "'--fail-below'"),
    ("report rec -o new.html --fail-below -0.5", "'--fail-below'"),
    ("run tiny.toml --on sim:small.toml --fail-below -1", "'--fail-below'"),
]


def test_an_option_that_would_do_nothing_is_refused(ground: Path) -> None:
    for line, said in IDLE:
        assert said in complaint(heatsoak_here(*line.split(), cwd=ground), 2), line
        assert not (ground / "new").exists(), line
        assert not (ground / "recordings").exists(), line


def test_an_option_that_some_of_several_logs_follow_is_accepted(
    ground: Path, tmp_path: Path
) -> None:
    (tmp_path / "two.csv").write_text(TWO_DRIVES)
    rec, log, warm = (str(ground / name) for name in ("rec", "log.csv", "warm.csv"))
    for words in (
        ("two.csv", log, "--separate", "--device", "sda"),
        (rec, log, warm, "--shift", "1"),
        (rec, log, "--separate"),
    ):
        done_here("analyze", *words, cwd=tmp_path)


@pytest.mark.parametrize("damage", ["recording.json", "samples.parquet"])
def test_one_broken_recording_of_several_is_named_and_the_rest_is_used(
    ground: Path, tmp_path: Path, damage: str
) -> None:
    for number, name in enumerate(("a", "b", "c")):
        shutil.copytree(ground / "rec", tmp_path / "all" / name)
        remake(tmp_path / "all" / name, started_unix_s=1_700_000_000.0 + number)
    broken = tmp_path / "all" / "b" / damage
    broken.write_bytes(broken.read_bytes()[:20])
    is_changed = damage == "samples.parquet"
    which = "all/b: this recording was changed after" if is_changed else f"all/b/{damage}: "
    for line in (
        "report all -o new.html",
        "analyze all --evidence",
        "export all -o new.csv",
        "analyze all --format json",
    ):
        done = done_here(*line.split(), cwd=tmp_path, code=3)
        (told,) = [said for said in done.stderr.splitlines() if said.startswith("heatsoak: ")]
        assert told.startswith(f"heatsoak: left out: {which}")
        if "-o" in line:
            assert "all/b" not in (tmp_path / line.split()[-1]).read_text()
        else:
            assert ("all/b" in done.stdout) == is_changed
            assert "all/c" in done.stdout


def test_a_broken_recording_that_was_named_or_is_the_only_one_is_an_error(
    ground: Path, tmp_path: Path
) -> None:
    for name in ("one/a", "b"):
        shutil.copytree(ground / "rec", tmp_path / name)
        (tmp_path / name / "recording.json").write_text("{")
    shutil.copytree(ground / "rec", tmp_path / "whole")
    for words in (("analyze", "one"), ("analyze", "whole", "b")):
        assert "recording.json: invalid JSON" in complaint(heatsoak_here(*words, cwd=tmp_path), 2)


#: No file or directory can be made in it, not even by root.
NEVER = "/proc/self/fdinfo"


@pytest.mark.skipif(not Path(NEVER).is_dir(), reason="needs Linux's /proc")
def test_a_place_that_cannot_be_written_is_said_before_anything_runs(ground: Path) -> None:
    for line in (
        *("run tiny.toml --on sim:small.toml -o @", "run tiny.toml --on . -o @", "demo -o @"),
        *("import log.csv -o @", "import log.csv missing -o @", "lab reproduce -o @"),
        *("report rec -o @.html", "report rec missing -o @.csv", "export rec -o @.csv"),
    ):
        words = line.replace("@", f"{NEVER}/new").split()
        said = complaint(heatsoak_here(*words, cwd=ground), 2)
        assert f"heatsoak: {NEVER}" in said, line
        assert "cannot be written: " in said, line


@pytest.mark.slow
def test_names_in_utf8_are_read_where_the_locale_is_another(ground: Path, tmp_path: Path) -> None:
    shutil.copytree(ground / "rec", tmp_path / "süß")
    shutil.copy(ground / "log.csv", tmp_path / "süß.csv")
    for name in ("tiny.toml", "small.toml"):
        shutil.copy(ground / name, tmp_path)
    with closing(InAscii()) as process:
        for line in (
            *("analyze süß --format json", "analyze süß.csv", "import süß.csv -o ä", "drives"),
            "report süß -o ü.html --title Größe",
            "run tiny.toml --on sim:small.toml --set pad=süß -o ü",
            *("export süß -o ü.csv", "export süß -o ü.parquet", "compare süß süß.csv --by drive"),
        ):
            wrong = process.breach_on(Streams(), line.split(), tmp_path, 200)
            assert wrong is None, line
    assert "<title>Größe" in (tmp_path / "ü.html").read_text("utf-8")
    assert "süß" in (tmp_path / "ü" / "recording.json").read_text("utf-8")
    for name in ("ä/recording.json", "ü.csv", "ü.parquet"):
        assert (tmp_path / name).is_file()
    done = heatsoak("analyze", "süß", "--format", "json", cwd=tmp_path, env=os.environ | ASCII_ONLY)
    assert json.loads(done.stdout)["recordings"][0]["path"] == "süß"


def test_a_title_that_is_not_utf8_is_shown_by_its_bytes(ground: Path, tmp_path: Path) -> None:
    words = ("report", str(ground / "rec"), "-o", "t.html", "--title", os.fsdecode(b"a\xff"))
    assert heatsoak_here(*words, cwd=tmp_path).returncode == 0
    assert "<title>a\\xff" in (tmp_path / "t.html").read_text("utf-8")
