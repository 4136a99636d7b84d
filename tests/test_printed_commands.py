"""Commands that screens and pages print: typed as they are printed, they do what is said."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import done_here, heatsoak_here, json_here
from compared import READ, falling, run, steady
from heatsoak import open_all
from heatsoak.cli import commands
from heatsoak.protocol import bundled
from idle_logs import idle_log
from paged import page_of

#: What a reader has of what is printed in capitals.
OWN = {"FILES": "log.csv", "RECORDINGS": "'my runs'", "DIRECTORY": "'my runs'", "COMMAND": "run"}
OWN |= {"DRIVE": "sim:samsung-950-pro-512", "DEVICE": "sim:samsung-950-pro-512", "FILE": "new.toml"}
#: Screens and complaints, by the words that bring them up.
SCREENS = [
    "", "--help", "doctor", "list", "list drives samsung-950-pro-512", "list places",
    "list protocols quick", "list places lapto", "analyze log.csv", "analyze 'my runs/hot'",
    "analyze 'my runs' --evidence", "analyze disk", "compare 'my runs' --by heatsink",
    "predict 'my runs'", "predict gone", "fit 'my runs/hot' -o new.toml --next next.toml",
    "report 'my runs/cool' -o x.html", "run", "run quick --on /dev/null",
    "run quick --on samsng-950-pro-512", "analyse log.csv", "rnu", "test",
]  # fmt: skip
COMMANDS = {name for rows in commands.COMMANDS.values() for name in rows}
#: Words of commands, behind which nothing of theirs need follow.
NAMES = {*COMMANDS, *bundled(), "drives", "places", "protocols", "nbd", "reproduce", "schema"}
#: Options without a value, behind which a sentence may go on.
FLAGS = ("--help", "--known", "--damaged")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of a simulated drive and of a directory's, and a log."""
    root = tmp_path_factory.mktemp("a desk")
    (root / "a disk").mkdir()
    sim = {"path": "sim:samsung-950-pro-512@laptop", "model": "Samsung SSD 950 PRO 512GB"}
    hot, kept = falling(100, 0.5), steady(2000)
    run({"heatsink": "none"}, hot, temp_c=64, drive=sim).save(root / "my runs" / "hot")
    run({"heatsink": "big"}, kept, seed=1, drive=sim).save(root / "my runs" / "cool")
    own = {"path": str(root / "a disk"), "kind": "directory"}
    for name, rates, temp_c in (("hot", hot, 64), ("held", kept, 30), ("cold", hot, None)):
        steps = [{**READ, "name": name} for name in "ab"]
        both = dict.fromkeys("ab", rates)
        made = run({}, both, steps=steps, temp_c=temp_c, drive=own, protocol="quick", name=name)
        made.save(root / "disk" / name)
    idle_log(root / "log.csv")
    return root


def printed_in(text: str, desk: Path) -> Iterator[str]:
    """The commands in what is printed: a sentence goes on with a word that is none of theirs."""
    for said in re.findall(r"\bheatsoak ((?:--?|[a-z]+\b).*)", text):
        words: list[str] = []
        for word in re.findall(r"'[^']*'|[^\s`]+", said.partition("`")[0]):
            bare = word if word == "." else word.rstrip(",;.):")
            is_value = bool(words) and words[-1].startswith("-") and words[-1] not in FLAGS
            is_own = (desk / bare.strip("'")).exists() or re.search(r"[/.:=\d]", bare)
            if not (bare in NAMES or bare.isupper() or bare[0] in "-'" or is_value or is_own):
                break
            words.append(OWN.get(bare, bare))
        if words and (words[0] in COMMANDS or words[0][0] == "-"):
            # what is only named is asked what it takes
            yield " ".join([*words, "--help"] if NAMES.issuperset(words) else words)


@pytest.mark.slow
def test_what_is_printed_is_understood_and_done(desk: Path, tmp_path: Path) -> None:
    found: dict[str, Path] = {}
    for number, screen in enumerate(SCREENS):
        here = Path(shutil.copytree(desk, tmp_path / f"of {number}"))
        done = heatsoak_here(*shlex.split(screen), cwd=here)
        commands = [*printed_in(done.stdout + done.stderr, here)]
        if screen.startswith("analyze"):
            told = json_here(*shlex.split(screen), cwd=here)
            answers = [one["answer"]["command"] or "" for one in (told, *told["recordings"])]
            commands += [one.removeprefix("heatsoak ") for one in answers if one]
        found |= dict.fromkeys(commands, here)
    assert len(found) > 25
    whole = "fit 'my runs' -o twin.toml", "run quick --on ~/", "analyze 'my runs/hot' --evidence"
    assert found.keys() > set(whole)
    wrong = []
    for number, (command, of) in enumerate(found.items()):
        typed = [word.replace("~", str(tmp_path)) for word in shlex.split(command)]
        typed += ["--dry-run"] if typed[0] == "run" and "--help" not in typed else []
        here = Path(shutil.copytree(of, tmp_path / f"typed {number}"))
        done = heatsoak_here(*typed, cwd=here)
        # there is no such drive here
        is_missing = done.stderr.startswith("heatsoak: /dev/nvme0n1: is not a block device")
        if done.returncode != 0 and not is_missing:
            wrong.append(f"{command}: {done.returncode} {done.stderr}")
    assert not wrong, "\n".join(wrong)


def test_the_command_of_a_page_makes_such_a_recording(tmp_path: Path) -> None:
    cell = "--set wet=true --set 'by=A B' --set slot=top --set gpus=2 --set gpu_load=loaded"
    words = f"run puget --on sim:pcie4-tlc-1tb --scale 0.01 {cell}"
    done_here(*shlex.split(words), "--tmt1", "70", "-o", "first", cwd=tmp_path)
    (first,) = open_all(tmp_path / "first")
    told = page_of([first]).recordings[0].command
    assert told == f"heatsoak {words} --tmt1 70 --tmt2 86"
    done_here(*shlex.split(told)[1:], "-o", "again", cwd=tmp_path)
    (again,) = open_all(tmp_path / "again")
    assert again.samples().equals(first.samples())
