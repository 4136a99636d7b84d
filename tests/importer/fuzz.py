"""Feeds damaged files to the importer's readers, to see that nothing but HeatsoakError escapes.

    python tests/importer/fuzz.py FORMAT|all --runs N --seconds S [--jobs 2]
    python tests/importer/fuzz.py FORMAT --replay FILE

Needs atheris (the extra ``fuzz``), but for ``--replay``. Inputs are grown from the samples in
``tests/importer/data/FORMAT`` by libFuzzer, which is led by the coverage of `heatsoak.importer`,
and by changes of whole lines and numbers. Prints what each format took, and how many a second.
Exits with 1 where one crashed; the input is saved, with the command that replays it.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))
from mutations import NASTY, mutated

if TYPE_CHECKING:
    from heatsoak.importer.formats import Format
    from heatsoak.importer.log import Log

DATA = Path(__file__).parent / "data"
#: Longer samples are cut, since the longer an input, the fewer a second; but one stays whole.
SHORT_INPUT, LONGEST_INPUT = 1 << 10, 32 << 10
#: A frame of samples may be so many times its input, and this much more.
FRAME_RATIO, FRAME_BYTES = 64, 64 << 10
#: How far one input may drive a process's peak of memory, once it has warmed up. libFuzzer's own
#: corpus makes it grow slowly.
GROWTH_BYTES = 64 << 20
_WARM_UP_RUNS = 1000
#: CPU time that one input may take in each of the importer's doors.
SLOWEST_S = 2.0
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")


class BrokenError(AssertionError):
    """A reader returned what no log may be."""


def seeds_of(reader: "Format") -> list[bytes]:
    """Return the samples of a format: its folder's, or those of all that it recognises."""
    from heatsoak.errors import HeatsoakError
    from heatsoak.importer import Source

    folder = DATA / reader.name
    paths = sorted(folder.rglob("*") if folder.is_dir() else DATA.rglob("*"))
    seeds = []
    for path in paths:
        with contextlib.suppress(HeatsoakError):
            source = Source.of_path(path)
            if path.is_file() and (folder.is_dir() or reader.recognises(source)):
                seeds.append(b"".join(source.chunks()))
    return seeds


def longest_of(seeds: list[bytes]) -> int:
    """Return how long inputs may become."""
    shortest = min((len(seed) for seed in seeds), default=0)
    return min(LONGEST_INPUT, max(SHORT_INPUT, shortest * 5 // 4))


def check(reader: "Format", data: bytes, *, whole: bool = True) -> bool:
    """Give `data` to `reader`, and to all of the importer if `whole`; return whether it read it.

    Raises BrokenError for a result that no log may be, and what escapes that is no HeatsoakError.
    """
    from heatsoak.errors import HeatsoakError
    from heatsoak.importer import Options, Source, read

    source = Source.of_bytes("input", data)
    doors: list[Callable[[], list[Log]]] = [lambda: reader.read(source, Options())]
    if whole:
        options = Options(device="sda", mapping={"t_s": "time"})
        doors += [
            lambda: reader.read(Source.of_bytes("input", data), options),
            lambda: read(Source.of_bytes("input", data)),
        ]
    with contextlib.suppress(HeatsoakError):
        reader.recognises(source)
    was_read = False
    for door in doors:
        start_s = time.thread_time()
        try:
            logs = door()
        except HeatsoakError as error:
            _one_line("an error", str(error))
            logs = []
        if time.thread_time() - start_s > SLOWEST_S:
            raise BrokenError(f"{len(data)} bytes took {time.thread_time() - start_s:.1f} s")
        for log in logs:
            check_log(log, len(data) if not data.startswith(_COMPRESSED) else None)
        was_read = was_read or (bool(logs) and door is doors[0])
    return was_read


def _one_line(what: str, text: str) -> None:
    if "\n" in text or "\r" in text or len(text) > 4000:
        raise BrokenError(f"{what} is not one line: {text[:5000]!r}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BrokenError(f"{what} is no Unicode text: {text[:500]!r}") from error


def check_log(log: "Log", size: int | None) -> None:
    from heatsoak.recording import schema_of

    samples = log.samples
    schema = samples.schema
    try:
        wanted = schema_of(schema.names())
    except KeyError as error:
        raise BrokenError(f"no recording has the column {error}") from error
    if schema != pl.Schema(wanted):
        raise BrokenError(f"its columns are {schema}, not {wanted}")
    if "t_s" not in wanted and not samples.is_empty():
        raise BrokenError("it has no times")
    for column in samples:
        if column.name == "step":
            continue
        values = column.to_numpy()
        finite = int(np.isfinite(values).sum())
        if finite + column.null_count() != len(values):
            raise BrokenError(f"{column.name} has numbers that are not finite")
        if column.name == "t_s" and (finite < len(values) or (np.diff(values) < 0).any()):
            raise BrokenError(f"its times do not rise: {values[:20]}")
        if column.name == "interval_s" and (values < 0).any():
            raise BrokenError("an interval is negative")
    names = [step.name for step in log.steps]
    if len(set(names)) != len(names):
        raise BrokenError(f"names of steps are not unique: {names[:20]}")
    if "step" in wanted and not {*samples["step"].to_list()} <= {*names, None}:
        raise BrokenError("samples belong to steps that are not described")
    if (log.clock == "none") != (log.start_unix_s is None):
        raise BrokenError(f"its clock is {log.clock}, it began at {log.start_unix_s}")
    if log.start_unix_s is not None and not np.isfinite(log.start_unix_s):
        raise BrokenError("its begin is not finite")
    for what, text in (
        *(("a remark", remark.text) for remark in log.remarks),
        *(("a step's name", name) for name in names),
        *(("a version", f"{tool} {version}") for tool, version in log.tools.items()),
        ("the drive", " ".join(map(str, log.drive.values()))),
        ("the label", log.label),
    ):
        _one_line(what, text)
    if size is not None and samples.estimated_size() > FRAME_RATIO * size + FRAME_BYTES:
        raise BrokenError(f"{size} bytes became a frame of {samples.estimated_size()}")


def dictionary_of(seeds: list[bytes]) -> list[bytes]:
    """Return the words of the samples, the most frequent first, and what is nasty."""
    counts: dict[bytes, int] = {}
    for seed in seeds:
        for word in re.findall(rb"[A-Za-z#%'*\[(<][\w #%'./:<>()\[\]=*-]{1,38}", seed):
            counts[word] = counts.get(word, 0) + 1
    words = sorted(counts, key=lambda word: -counts[word])
    return [*words[:300], *(word for word in NASTY if len(word) < 60)]


def _inputs_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_file())


def _campaign(name: str, runs: int, seconds: int, crashes: Path) -> tuple[int, int, bool]:
    """Run libFuzzer in a process of its own; return inputs, how many a second, and if all well."""
    with tempfile.TemporaryDirectory() as place:
        corpus, words = Path(place, "corpus"), Path(place, "words")
        corpus.mkdir()
        seeds = seeds_of(_reader(name))
        longest = longest_of(seeds)
        for index, seed in enumerate(seeds):
            (corpus / f"seed-{index}").write_bytes(seed[:longest])
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in dictionary_of(seeds))
        words.write_text("".join(f'"{word}"\n' for word in escaped))
        crashes.mkdir(parents=True, exist_ok=True)
        before = set(_inputs_in(crashes))
        done = subprocess.run(
            [
                *(sys.executable, __file__, name, "--inside"),
                *(f"-runs={runs}", f"-max_total_time={seconds}", f"-max_len={longest}"),
                *("-timeout=60", "-rss_limit_mb=3072", "-print_final_stats=1"),
                *("-len_control=0", f"-dict={words}", f"-artifact_prefix={crashes}/{name}-"),
                str(corpus),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
            check=False,
        )
        output = done.stdout.decode(errors="replace")
        count = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
        a_second = re.search(r"stat::average_exec_per_sec:\s*(\d+)", output)
        for path in sorted(set(_inputs_in(crashes)) - before):
            print(f"{name}: replay with\n  {sys.executable} {__file__} {name} --replay {path}")
        if done.returncode:
            print("\n".join(output.splitlines()[-60:]))
        executed = int(count.group(1)) if count else 0
        return executed, int(a_second.group(1)) if a_second else 0, done.returncode == 0


def _inside(name: str, arguments: list[str]) -> None:
    """Be the process that libFuzzer runs in."""
    import atheris

    # atheris takes whole packages: what is below the importer is imported before, unchanged
    import_module("heatsoak.importer.formats")
    for module in [module for module in sys.modules if module.startswith("heatsoak.importer")]:
        del sys.modules[module]
    with atheris.instrument_imports(include=["heatsoak.importer"], enable_loader_override=False):
        import_module("heatsoak.importer.formats")
    reader = _reader(name)
    others = seeds_of(reader)
    count, peak_bytes = 0, 0

    def one(data: bytes) -> None:
        nonlocal count, peak_bytes
        count += 1
        check(reader, data, whole=zlib.crc32(data) % 8 == 0)
        before, peak_bytes = peak_bytes, _peak_bytes()
        if count > _WARM_UP_RUNS and peak_bytes - before > GROWTH_BYTES:
            raise BrokenError(f"it took {(peak_bytes - before) >> 20} MiB")

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return mutated(data, chance, others, most)

    atheris.Setup([__file__, *arguments], one, custom_mutator=mutate)
    atheris.Fuzz()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _reader(name: str) -> "Format":
    from heatsoak.importer.formats import FORMATS

    for reader in FORMATS:
        if reader.name == name:
            return reader
    sys.exit(f"no format {name}: {', '.join(reader.name for reader in FORMATS)}")


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[2:3] == ["--inside"]:
        _inside(sys.argv[1], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description="Feed damaged files to the importer's readers.")
    parser.add_argument("format", help="a format's name, or all")
    parser.add_argument("--runs", type=int, default=-1, help="inputs for each format")
    parser.add_argument("--seconds", type=int, default=0, help="at most, for each format")
    parser.add_argument("--jobs", type=int, default=2, help="formats at once")
    parser.add_argument(
        "--crashes", type=Path, default=Path("crashes"), help="where to keep inputs"
    )
    parser.add_argument("--replay", type=Path, help="an input that crashed")
    wanted = parser.parse_args()
    if wanted.replay:
        read = check(_reader(wanted.format), wanted.replay.read_bytes())
        print("was read" if read else "was refused in one line")
        return
    if wanted.runs < 0 and not wanted.seconds:
        parser.error("say --runs, --seconds, or both")
    from heatsoak.importer.formats import FORMATS

    names = [reader.name for reader in FORMATS]
    if wanted.format != "all":
        names = [_reader(wanted.format).name]
    well = True

    def run(name: str) -> None:
        nonlocal well
        count, a_second, passed = _campaign(name, wanted.runs, wanted.seconds, wanted.crashes)
        well = well and passed
        end = "" if passed else " CRASHED"
        print(f"{name:20} {count:9} inputs {a_second:6} a second{end}", flush=True)

    with ThreadPoolExecutor(wanted.jobs) as pool:
        list(pool.map(run, names))
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
