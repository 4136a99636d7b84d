"""Takes down what heatsoak does, so that two versions can be held against each other.

``python scripts/behaviour.py take FILE`` asks the installed heatsoak for everything that people and
programs rely on, and writes it as JSON; ``compare OLD NEW`` prints what differs, and exits 1 if
anything does. Taken are commands and options, protocols, drives, enclosures, log formats, export
formats, sensors, exit codes of wrong calls, bytes of simulated recordings, what becomes of every
sample log, findings, comparisons and pages of those, and, unless ``--quick``, the figures of
``reproduce`` and ``demo`` and the judge's findings on labelled cases. Sentences are left out: only
numbers and identifiers (words without spaces) count.
"""

import argparse
import hashlib
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any

import polars as pl

PROJECT = Path(__file__).resolve().parent.parent
SAMPLES = PROJECT / "tests" / "importer" / "data"
PROGRAM = [sys.executable, "-m", "heatsoak"]
RUNS = {
    "quick": "run quick --on sim:samsung-950-pro-512@puget-bottom-2gpu-loaded",
    "quick-unheated": "run quick --on sim:pcie5-tlc-2tb",
    "why": "run why --on sim:pcie4-tlc-1tb --scale 0.2",
    "why-hot": "run why --on sim:samsung-950-pro-256@puget-top-2gpu-loaded --scale 0.3",
    "puget-cell": "run puget --on sim:samsung-950-pro-512 --set slot=top --set gpus=2 "
    "--set gpu_load=on",
    "mixed": "run anandtech-mixed-random --on sim:samsung-850-pro-512 --scale 0.02",
    "rounds": "run snia-pts --on sim:samsung-950-pro-256 --scale 0.005",
    "replay": "run storage-bench-light --on sim:samsung-950-pro-512 --scale 0.05",
    "stream": "run capture-4k60 --on sim:intel-750-1200-u2 --scale 0.1",
    "spare": "run over-provisioning --on sim:samsung-850-pro-512 --scale 0.01",
    "copy": "run copy --on sim:samsung-950-pro-512 --to sim:samsung-950-pro-256 --scale 0.1",
}
WRONG = (
    "run nothing --on sim:samsung-950-pro-512",
    "run quick --on sim:nothing",
    "run quick --on sim:samsung-950-pro-512@nowhere",
    "run quick --on /dev/nothing",
    "run quick --on /nothing/there",
    "run quick --on nbd+unix:///?socket=/nothing",
    "run quick --on nbd://host/",
    "run quick",
    "run quick --on sim:samsung-950-pro-512 --set nonsense",
    "run quick --on sim:samsung-950-pro-512 --scale 0",
    "run quick --on sim:samsung-950-pro-512 --scale 2",
    "run quick --on sim:samsung-950-pro-512 --resume",
    "run quick --on sim:samsung-950-pro-512 --fail-on nothing",
    "run quick --on sim:samsung-950-pro-512 --dry-run",
    "run copy --on sim:samsung-950-pro-512",
    "run quick --on sim:samsung-950-pro-512 --to sim:samsung-950-pro-256",
    "run /nothing.toml --on sim:samsung-950-pro-512",
    "analyze",
    "analyze /nothing",
    "analyze {empty}",
    "analyze {text}",
    "analyze {runs}/why --fail-on throttle",
    "analyze {runs}/quick --fail-on throttle",
    "analyze {runs}/quick --fail-below 1",
    "analyze {runs}/quick --fail-below 1e9",
    "analyze {runs}/quick --window 1",
    "analyze {runs}/quick --map nonsense",
    "compare {runs}/quick",
    "compare {runs}/quick {runs}/why --by nothing",
    "compare {runs} --by enclosure --baseline nothing",
    "report {runs}/quick -o {runs}/x.doc",
    "report {runs}/quick",
    "import {text} -o {runs}/new",
    "import {runs}/quick -o {runs}/new",
    "import {sample} -o {runs}/quick",
    "export {runs}/quick -o {runs}/x.doc",
    "export /nothing -o {runs}/x.csv",
    "reproduce --drive nothing",
    "reproduce --only nothing",
    "reproduce --fail-below -1",
    "corpus --count 0 -o {runs}/new",
    "drives --format nothing",
    "trace /nothing",
    "trace nothing",
    "serve /nothing",
    "nbd nothing",
    "watch nothing",
    "nothing",
    "--nothing",
)
#: What another machine, time or version would write otherwise.
VOLATILE = {
    *("host", "tools", "started_unix_s", "started_boot", "part_of_copy"),
    *("samples_sha256", "events_sha256", "meta_sha256"),
    *("own_cpu_s", "made_by", "made_unix_s"),
}


def heatsoak(words: list[str]) -> tuple[int, str]:
    """Return a call's exit code and standard output."""
    done = subprocess.run(
        [*PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def document(words: list[str], under: Path | None = None) -> Any:
    """Return the exit code and the JSON of a call, less its sentences and places."""
    code, out = heatsoak([*words, "--format", "json"])
    try:
        parsed = json.loads(out)
    except ValueError:
        return {"exit": code, "json": None}
    return {"exit": code, "json": bare(parsed, under)}


def bare(value: Any, under: Path | None = None) -> Any:
    """Return a document with its sentences taken out, and paths as they are below a directory."""
    if isinstance(value, dict):
        return {str(key): bare(item, under) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [bare(item, under) for item in value]
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, str):
        for place in filter(None, (under, SAMPLES)):
            value = value.replace(f"{place}/", "")
        return value if not re.search(r"\s", value) else "(words)"
    return value


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def kind(parameter: Any) -> Any:
    """Return what a parameter takes: a type's name, or the choices there are."""
    annotation = parameter.type_descriptor.annotation
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(one.value) for one in annotation]
    return getattr(annotation, "__name__", str(annotation))


def commands() -> Any:
    """Return each command's parameters, as the command line itself knows them."""
    import typer
    from heatsoak.cli.app import app

    def of(command: Any) -> Any:
        parameters = {
            str(one.name): {
                "names": sorted([*one.opts, *one.secondary_opts]),
                "type": kind(one),
                "least": one.min,
                "most": one.max,
                "required": one.required,
                "multiple": getattr(one, "multiple", False) or one.nargs != 1,
                "default": "(worked out)" if callable(one.default) else str(one.default),
            }
            for one in command.params
        }
        below = getattr(command, "commands", {})
        return {
            # programs do not name a parameter but by its option
            "parameters": sorted(parameters.values(), key=lambda one: one["names"]),
            "commands": {name: of(item) for name, item in sorted(below.items())},
        }

    return of(typer.main.get_command(app))


def lists() -> Any:
    """Return protocols, simulated drives with their enclosures, formats and sensors."""
    from heatsoak.importer.formats import FORMATS

    _, out = heatsoak(["drives", "--format", "json"])
    drives = [one for one in json.loads(out) if one["simulated"]]
    catalog = PROJECT / "python" / "heatsoak" / "catalog"
    data = sorted(p for p in catalog.rglob("*.toml"))
    return {
        "protocols": document(["protocols"]),
        "drives": bare(drives),
        "catalog": {str(p.relative_to(catalog)): sha(p.read_bytes()) for p in data},
        "formats": sorted(one.name for one in FORMATS),
        "sensors": sensors(),
    }


def sensors() -> Any:
    """Return how many kinds of sensor there are, and what those of a machine made up give."""
    import heatsoak.sensor as room

    sys.path.insert(0, str(PROJECT / "tests"))
    from machine_tree import with_nvme

    kinds: set[type] = set()
    for module in pkgutil.iter_modules(room.__path__, "heatsoak.sensor."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and callable(getattr(one, "read", None)):
                kinds.add(one)
    with tempfile.TemporaryDirectory() as place:
        found = room.discover("nvme0n1", with_nvme(Path(place)))
    return {
        "kinds": len(kinds),
        "columns": {one.info.name: sorted(one.info.columns) for one in found},
    }


def recorded(directory: Path) -> Any:
    """Return digests of everything in the recordings below a directory."""
    result = {}
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        name = str(path.relative_to(directory))
        if path.name == "recording.json":
            result[name] = bare(json.loads(path.read_text()), directory)
        elif path.name == "events.jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            result[name] = bare(lines, directory)
        elif path.suffix == ".parquet":
            result[name] = table(path)
        else:
            result[name] = sha(path.read_bytes())
    return result


def table(path: Path) -> Any:
    """Return a digest of each column, so that what changed has a name, and of the file."""
    frame = pl.read_parquet(path)
    columns = {
        name: sha(frame[name].cast(pl.String).fill_null("-").str.join("\n")[0].encode())
        for name in frame.columns
    }
    return {"rows": frame.height, "columns": columns, "file": sha(path.read_bytes())}


def page_of(path: Path) -> Any:
    """Return a page's data, with its series as digests."""
    text = path.read_text("utf-8")
    found = re.search(r'id="heatsoak-page">(.*?)</script>', text, re.DOTALL)
    if found is None:
        return None
    data = json.loads(found[1])

    def short(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: short(item) for key, item in value.items()}
        if isinstance(value, list):
            return [short(item) for item in value]
        return sha(value.encode()) if isinstance(value, str) and len(value) > 300 else value

    return short(bare(data))


def simulated(runs: Path) -> Any:
    """Make the recordings, and return what is in them, of them and made of them."""
    result: dict[str, Any] = {}

    def make(item: tuple[str, str]) -> tuple[str, Any]:
        name, words = item
        place = runs / name
        said = document([*words.split(), "-o", str(place)], place)
        return name, {"run": said, "recorded": recorded(place)}

    with ThreadPoolExecutor(2) as pool:
        for name, made in pool.map(make, RUNS.items()):
            say(f"run {name}")
            result[name] = made
    for name in RUNS:
        place = runs / name
        made = result[name]
        made["analyzed"] = document(["analyze", str(place)], place)
        made["exports"] = {
            kind: exported(place, kind) for kind in ("csv", "openmetrics", "fio-plot")
        }
        html = runs / f"{name}.html"
        code, _ = heatsoak(["report", str(place), "-o", str(html)])
        made["page"] = [code, page_of(html) if code == 0 else None]
        say(f"judged {name}")
    for by in ("slot", "gpus", "heatsink"):
        pair = [str(runs / "quick"), str(runs / "why-hot"), str(runs / "puget-cell")]
        result[f"compare by {by}"] = document(["compare", *pair, "--by", by], runs)
    return result


def exported(place: Path, kind: str) -> Any:
    """Return a digest of each file that an export makes; those of sentences by their length."""
    with tempfile.TemporaryDirectory() as to:
        code, _ = heatsoak(["export", str(place), "--as", kind, "--force", "-o", f"{to}/out/"])
        files = sorted(p for p in Path(to).rglob("*") if p.is_file())
        return [code, {str(p.relative_to(to)): sha(untimed(p)) for p in files}]


def untimed(path: Path) -> bytes:
    """Return what is in an exported file, without the time at which its recording was made."""
    data = path.read_bytes()
    if path.suffix == ".om":  # lines in order: a metric may stand elsewhere in the file
        lines = [line.rsplit(b" ", 1)[0] for line in data.splitlines() if not line.startswith(b"#")]
        return b"\n".join(sorted(lines))
    return re.sub(rb'"time(stamp)?(_ms)?" ?: ?("[^"]*"|[0-9.]+)', b"", data)


def samples(place: Path) -> Any:
    """Import and judge every sample log."""
    logs = sorted(p for p in SAMPLES.rglob("*") if p.is_file())

    def taken(log: Path) -> tuple[str, Any]:
        name = str(log.relative_to(SAMPLES))
        to = place / name.replace("/", "-")
        code, _ = heatsoak(["import", str(log), "-o", str(to)])
        return name, {
            "import": [code, recorded(to) if to.exists() else None],
            "analyze": document(["analyze", str(log)], SAMPLES),
        }

    with ThreadPoolExecutor(2) as pool:
        result = {}
        for name, one in pool.map(taken, logs):
            say(f"log {name}")
            result[name] = one
    for folder in sorted(p for p in SAMPLES.iterdir() if p.is_dir()):
        result[f"{folder.name}/"] = document(["analyze", str(folder)], SAMPLES)
    return result


def wrong(runs: Path) -> Any:
    """Return the exit codes of calls, most of which are wrong."""
    empty, text = runs / "nothing-in-it", runs / "prose.txt"
    empty.mkdir()
    text.write_text("this is no log\n" * 5)
    sample = SAMPLES / "dstat" / "v07.csv"
    result = {}
    for words in WRONG:
        call = [
            word.format(runs=runs, empty=empty, text=text, sample=sample) for word in words.split()
        ]
        if call[0] == "run" and "--dry-run" not in call:
            call += ["-o", str(runs / "wrong")]
        result[words] = heatsoak(call)[0]
    return result


def judged(place: Path, count: int) -> Any:
    """Return what the judge finds in the first labelled cases."""
    result = {}
    for kind in ([], ["--held-out"]):
        to = place / ("cases" + "".join(kind))
        heatsoak(["corpus", "--count", str(count), "-o", str(to), *kind])
        cases = sorted(p for p in to.iterdir() if p.is_dir())

        def of(case: Path) -> tuple[str, Any]:
            return case.name, document(["analyze", str(case)], case.parent)

        with ThreadPoolExecutor(2) as pool:
            result.update(pool.map(of, cases))
        say(f"judged {count} cases")
    return result


def take(path: Path, *, quick: bool, cases: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        runs = place / "runs"
        runs.mkdir()
        result = {"commands": commands(), "lists": lists()}
        result["simulated"] = simulated(runs)
        result["exit codes"] = wrong(runs)
        logs = place / "logs"
        logs.mkdir()
        result["samples"] = samples(logs)
        if not quick:
            result["judged"] = judged(place, cases)
            result["demo"] = document(["demo", "-o", str(place / "demo")], place / "demo")
            say("demo")
            result["reproduce"] = document(["reproduce", "-o", str(place / "all")], place / "all")
    path.write_text(json.dumps(result, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def differences(old: Any, new: Any, at: str = "") -> list[str]:
    """Return where two documents differ, a line each."""
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for key in sorted({*old, *new}):
            below = f"{at}/{key}"
            if key not in new:
                lines.append(f"{below}: gone")
            elif key not in old:
                lines.append(f"{below}: new")
            else:
                lines += differences(old[key], new[key], below)
        return lines
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for number, (one, other) in enumerate(zip(old, new, strict=True))
            for line in differences(one, other, f"{at}/{number}")
        ]
    if old == new:
        return []
    return [f"{at}: {json.dumps(old)[:150]} -> {json.dumps(new)[:150]}"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    taking = actions.add_parser("take", help="write down what this version does")
    taking.add_argument("file", type=Path)
    taking.add_argument("--quick", action="store_true", help="without reproduce, demo and cases")
    taking.add_argument("--cases", type=int, default=30, help="labelled cases of each kind")
    comparing = actions.add_parser("compare", help="print what differs; exit 1 if anything does")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args()
    if given.action == "take":
        take(given.file, quick=given.quick, cases=given.cases)
        return 0
    old, new = (json.loads(path.read_text()) for path in (given.old, given.new))
    parts = [part for part in old if part in new]
    lines = [line for part in parts for line in differences(old[part], new[part], part)]
    print("\n".join(lines) or "nothing differs")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
