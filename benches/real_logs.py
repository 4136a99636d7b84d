"""Real logs of public repositories: fetches them, and scores heatsoak's answers on them.

``python benches/real_logs.py fetch DIR`` lays each log of ``real_logs.toml`` out in ``DIR/ID/``,
and ``python benches/real_logs.py score DIR`` judges them there, one after the other, and prints a
line for each and the totals. The logs belong to others and never come into this repository.
``--mirror DIR`` takes repositories that were fetched before, as ``DIR/OWNER+NAME/...``.

``python benches/real_logs.py suites DIR`` hands over the samples that other tools test themselves
with, and counts what is read, refused with a reason, and neither. ``listings DIR`` holds what is
said of 15,000 listings of smartctl, each alone, against what they count.

What is expected was written by people who had looked at the numbers, without heatsoak.
"""

import argparse
import random
import re
import signal
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import FrameType

import pydantic
from heatsoak import words
from heatsoak.analysis import Answer as Said
from heatsoak.analysis import Findings, analyze
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, open_all

EXPECTED = Path(__file__).with_suffix(".toml")
GITHUB = "https://github.com/"
#: How long a log may take by the clock; raise it on a machine that others load.
LIMIT_S = 60.0
#: What becomes of a sample of another tool's tests.
RESULTS = ("read", "refused", "failed")
#: Episodes that are nobody's fault.
UNKNOWN = "unknown"


class Expectation(pydantic.BaseModel):
    """A log, or files judged together, and what a careful person says about it.

    Attributes:
        throttles: acceptable answers: yes, no, cannot-tell, not-loaded.
        falls: whether at least one drop of throughput has to be reported: yes, no, either.
        onset_s: when the main fall begins, from the start of the log or of its step.
        depth_pct: how deep the main fall is.
        causes: acceptable causes of drops; all, if none are listed.
        device: which drive of several, where heatsoak has to be told.
        mapping: what columns mean, where heatsoak has to be told.
        refusal: whether it is as good to say, in a line, that this is no log of a drive.
    """

    model_config = pydantic.ConfigDict(extra="forbid")

    id: str
    kind: str
    source: str
    commit: str | None = None
    paths: list[str]
    shows: str
    throttles: list[str]
    falls: str
    onset_s: tuple[float, float] | None = None
    depth_pct: tuple[float, float] | None = None
    causes: list[str] = []
    device: str | None = None
    mapping: dict[str, str] = {}
    refusal: bool = False
    why: str


class Origin(pydantic.BaseModel):
    """A repository, at one commit; the licence it states, if any."""

    model_config = pydantic.ConfigDict(extra="forbid")

    commit: str
    licence: str | None = None


class Suite(Origin):
    """The samples of a tool's own tests: files of its repository whose paths match a pattern."""

    only: list[str]


class Expected(pydantic.BaseModel):
    """The contents of ``real_logs.toml``."""

    model_config = pydantic.ConfigDict(extra="forbid")

    sources: dict[str, Origin]
    suites: dict[str, Suite]
    listings: dict[str, Origin]
    log: list[Expectation]


@dataclass
class Drop:
    """An episode, with its onset from its step's start, and from the log's, as steps follow."""

    onset_s: float
    since_start_s: float
    depth_pct: float
    cause: str


@dataclass
class Answer:
    """What heatsoak says about a log.

    Attributes:
        seconds: of the processor, so that others' load does not count.
        refused: the one line that says why it is not read.
        in_time: whether it came within the limit.
        throttles: yes, no, cannot-tell or not-loaded, about everything in the log.
    """

    seconds: float
    refused: str | None = None
    in_time: bool = True
    throttles: str = ""
    verdicts: list[str] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)

    def __str__(self) -> str:
        if self.refused is not None:
            return self.refused
        drops = ", ".join(
            f"{drop.cause} {drop.depth_pct:.0f} % at {drop.onset_s:.0f} s"
            for drop in self.drops[:3]
        )
        more = f" and {len(self.drops) - 3} more" if len(self.drops) > 3 else ""
        verdicts = ", ".join(
            f"{count} {verdict}" if count > 1 else verdict
            for verdict, count in Counter(self.verdicts).most_common()
        )
        return f"throttles: {self.throttles}; {verdicts}; {drops or 'no drops'}{more}"


@dataclass
class Mark:
    """How an answer compares with what is expected; `wrong` says in words what is wrong."""

    expectation: Expectation
    answer: Answer
    wrong: list[str]

    @property
    def is_read(self) -> bool:
        return self.answer.refused is None

    @property
    def is_fair(self) -> bool:
        """Whether it is read, or refused with good reason."""
        return self.is_read or (self.expectation.refusal and self.answer.in_time)


def expected() -> Expected:
    return Expected.model_validate(tomllib.loads(EXPECTED.read_text(encoding="utf-8")))


# --- fetching ---------------------------------------------------------------------------------


def git(*arguments: str, repository: Path | None = None) -> bytes:
    where = [] if repository is None else ["-C", str(repository)]
    return subprocess.run(["git", *where, *arguments], check=True, stdout=subprocess.PIPE).stdout


def in_mirror(mirror: Path, source: str) -> Path | None:
    """Return the git directory that a mirror has of a repository."""
    top = mirror / source.replace("/", "+")
    for place in (top, top / "repo", top / "repo" / ".git", top / ".git"):
        if (place / "HEAD").exists() and (place / "objects").exists():
            return place
    return None


def cloned(clones: Path, source: str, commits: Sequence[str]) -> Path:
    """Return a clone that has these commits, and of their files what is asked for."""
    clone = clones / source.replace("/", "+")
    if not clone.exists():
        clones.mkdir(parents=True, exist_ok=True)
        git("clone", "--quiet", "--bare", "--filter=blob:none", GITHUB + source, str(clone))
    for commit in commits:
        known = subprocess.run(["git", "-C", str(clone), "cat-file", "-e", commit], check=False)
        if known.returncode:
            git("fetch", "--quiet", "origin", commit, repository=clone)
    return clone


def repository_of(source: str, commits: Sequence[str], into: Path, mirror: Path | None) -> Path:
    found = in_mirror(mirror, source) if mirror else None
    return found or cloned(into / ".clones", source, commits)


def fetch(into: Path, mirror: Path | None) -> None:
    """Lay out every log in a directory of its own."""
    known = expected()
    for source, origin in known.sources.items():
        logs = [log for log in known.log if log.source == source]
        commits = sorted({log.commit or origin.commit for log in logs})
        repository = repository_of(source, commits, into, mirror)
        for log in logs:
            place = into / log.id
            place.mkdir(parents=True, exist_ok=True)
            for path in log.paths:
                data = git("show", f"{log.commit or origin.commit}:{path}", repository=repository)
                (place / PurePosixPath(path).name).write_bytes(data)
        print(f"{source}: {len(logs)}", flush=True)


# --- scoring ----------------------------------------------------------------------------------


def drops(found: Findings) -> Iterator[Drop]:
    for recording in found.recordings:
        began_s = 0.0
        for step in recording.steps:
            for each in step.episodes:
                yield Drop(each.onset_s, began_s + each.onset_s, each.depth_pct, each.cause)
            began_s += step.duration_s


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer by the clock."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judged(log: Expectation, where: Path, limit_s: float) -> Answer:
    files = [where / log.id / PurePosixPath(path).name for path in log.paths]
    return asked(files, Options(mapping=log.mapping, device=log.device), where, limit_s)


def asked(files: Sequence[Path], options: Options, where: Path, limit_s: float) -> Answer:
    """Ask heatsoak about files, as ``heatsoak analyze`` does."""
    began_s = time.process_time()
    try:
        with at_most(limit_s):
            found = analyze(open_all(files, options))
    except TimeoutError:
        seconds = time.process_time() - began_s
        return Answer(seconds, refused=f"not done in {limit_s:.0f} s", in_time=False)
    except HeatsoakError as error:
        seconds = time.process_time() - began_s
        return Answer(seconds, refused=str(error).replace(f"{where}/", ""))
    seconds = time.process_time() - began_s
    verdicts = [step.verdict for each in found.recordings for step in each.steps]
    return Answer(
        seconds, throttles=found.answer.throttles, verdicts=list(verdicts), drops=list(drops(found))
    )


def marked(log: Expectation, answer: Answer) -> Mark:
    wrong: list[str] = []
    mark = Mark(log, answer, wrong)
    if not mark.is_read:
        if not mark.is_fair:
            wrong.append("not read")
        return mark
    if answer.throttles not in log.throttles:
        wrong.append(f"throttles {answer.throttles}, not {' or '.join(log.throttles)}")
    if log.falls == "yes" and not answer.drops:
        wrong.append("no fall found")
    if log.falls == "no" and answer.drops:
        wrong.append("falls found where nothing falls")
    if log.onset_s is not None and answer.drops and not any(is_main(log, d) for d in answer.drops):
        wrong.append("main fall elsewhere")
    named = sorted({drop.cause for drop in answer.drops})
    if log.causes and (bad := [cause for cause in named if cause not in log.causes]):
        wrong.append(f"cause {', '.join(bad)}")
    return mark


def is_main(log: Expectation, drop: Drop) -> bool:
    """Whether a drop is the main fall that is expected."""
    assert log.onset_s is not None
    begins, ends = log.onset_s
    least, most = log.depth_pct or (0.0, 100.0)
    onsets = (drop.onset_s, drop.since_start_s)
    return any(begins <= onset <= ends for onset in onsets) and least <= drop.depth_pct <= most


def share(what: str, good: int, of: int) -> None:
    print(f"{what:44} {good:3} of {of:3}" + (f" {good / of:6.0%}" if of else ""))


def print_totals(marks: Sequence[Mark]) -> None:
    read = [mark for mark in marks if mark.is_read]
    share("read, or refused with good reason", sum(mark.is_fair for mark in marks), len(marks))
    share("all right", sum(not mark.wrong for mark in marks), len(marks))
    share(
        "acceptable answers",
        sum(mark.answer.throttles in mark.expectation.throttles for mark in read),
        len(read),
    )
    falling = [mark for mark in read if mark.expectation.falls == "yes"]
    share("falls found", sum(bool(mark.answer.drops) for mark in falling), len(falling))
    timed = [mark for mark in falling if mark.expectation.onset_s is not None]
    share(
        "  at the right time, as deep",
        sum(any(is_main(mark.expectation, drop) for drop in mark.answer.drops) for mark in timed),
        len(timed),
    )
    flat = [mark for mark in read if mark.expectation.falls == "no"]
    share("steady where nothing falls", sum(not mark.answer.drops for mark in flat), len(flat))
    named = [
        (mark, drop)
        for mark in read
        if mark.expectation.causes
        for drop in mark.answer.drops
        if drop.cause != UNKNOWN
    ]
    wrong = sum(drop.cause not in mark.expectation.causes for mark, drop in named)
    share("wrong causes, of those named", wrong, len(named))
    hot = [mark for mark in read if mark.answer.throttles == "yes"]
    baseless = sum("yes" not in mark.expectation.throttles for mark in hot)
    share("heat named without support", baseless, len(hot))
    seconds = [mark.answer.seconds for mark in marks]
    mean_s, most_s = sum(seconds) / len(seconds), max(seconds)
    print(f"{'processor seconds each: mean, longest':44} {mean_s:.1f}, {most_s:.1f}")


def score(where: Path, only: Sequence[str], limit_s: float) -> None:
    marks = []
    for log in expected().log:
        if only and not any(log.id.startswith(one) for one in only):
            continue
        if not (where / log.id).is_dir():
            print(f"{log.id}: not fetched")
            continue
        mark = marked(log, judged(log, where, limit_s))
        marks.append(mark)
        state = f"WRONG ({'; '.join(mark.wrong)})" if mark.wrong else "ok"
        print(f"{log.id}: {state}: {mark.answer} [{mark.answer.seconds:.1f} s]", flush=True)
    if marks:
        print()
        print_totals(marks)


def try_suites(into: Path, mirror: Path | None, limit_s: float) -> None:
    """Hand over each sample of each suite, and print how many of it are read or refused."""
    for source, suite in expected().suites.items():
        repository = repository_of(source, [suite.commit], into, mirror)
        listed = git("ls-tree", "-r", "--name-only", suite.commit, repository=repository)
        counts: Counter[str] = Counter()
        for path in listed.decode().splitlines():
            if not any(PurePosixPath(path).match(pattern) for pattern in suite.only):
                continue
            file = into / source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(git("show", f"{suite.commit}:{path}", repository=repository))
            try:
                answer = asked([file], Options(), into, limit_s)
            except Exception as error:  # what users must never see, and what is counted here
                print(f"{path}: {type(error).__name__}: {error}")
                counts["failed"] += 1
                continue
            in_time = "refused" if answer.in_time else "failed"
            counts["read" if answer.refused is None else in_time] += 1
            if answer.refused is not None:
                print(f"  {answer.refused}")
        print(f"{source}: " + ", ".join(f"{counts[one]} {one}" for one in RESULTS), flush=True)


# --- listings of smartctl ---------------------------------------------------------------------

#: What a listing says itself of its drive, and how often of heat.
_WARNS = re.compile(r"Critical Warning: +0x(?!00)|test result: FAILED")
_THROTTLED = re.compile(r"Transition Count: +[1-9]")
_TOO_HOT = re.compile(r"(?:Warning|Critical) +Comp\. Temperature Time: +[1-9]")


def denied(listing: str, answer: Said) -> str:
    """Return what an answer denies of a listing, or what it says that the listing does not."""
    told = answer.sentence
    held = {
        "that it warns": bool(_WARNS.search(listing)) == (answer.alarm is not None),
        "that it throttled": not _THROTTLED.search(listing) or answer.throttles == "yes",
        "that it was too hot": not (_TOO_HOT.search(listing) and "never above" in told),
    }
    return words.listed([what for what, is_so in held.items() if not is_so])


def try_listings(into: Path, mirror: Path | None, count: int, seed: int) -> None:
    """Hold the answers to public listings, each alone, drawn by a seed, against what they say."""
    source, origin = next(iter(expected().listings.items()))
    repository = repository_of(source, [origin.commit], into, mirror)
    listed = git("ls-tree", "-r", "--name-only", origin.commit, repository=repository).decode()
    paths = [path for path in listed.splitlines() if path.count("/") > 2]
    counts: Counter[str] = Counter()
    file = into / "listing.txt"
    into.mkdir(parents=True, exist_ok=True)
    for path in random.Random(seed).sample(paths, min(count, len(paths))):
        file.write_bytes(git("show", f"{origin.commit}:{path}", repository=repository))
        try:
            (found,) = analyze(open_all([file])).recordings
        except HeatsoakError as error:
            print(f"{path}: {error}")
            counts["refused"] += 1
            continue
        counts[found.answer.throttles] += 1
        if why := denied(file.read_text("utf-8", "replace"), found.answer):
            print(f"{path}: {why}: {found.answer.sentence}")
            counts["wrong"] += 1
    print(f"{source}: " + ", ".join(f"{of} {what}" for what, of in counts.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    fetching = modes.add_parser("fetch", help="lay the logs out in a directory")
    fetching.add_argument("directory", type=Path)
    fetching.add_argument("--mirror", type=Path, help="repositories that are here already")
    scoring = modes.add_parser("score", help="judge the logs in a directory")
    scoring.add_argument("directory", type=Path)
    scoring.add_argument("--only", nargs="*", default=[], metavar="ID", help="beginnings of ids")
    scoring.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS")
    trying = modes.add_parser("suites", help="hand over the samples of other tools' tests")
    trying.add_argument("directory", type=Path)
    trying.add_argument("--mirror", type=Path, help="repositories that are here already")
    trying.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS")
    listing = modes.add_parser("listings", help="try public listings of smartctl")
    listing.add_argument("directory", type=Path)
    listing.add_argument("--mirror", type=Path, help="repositories that are here already")
    listing.add_argument("--count", type=int, default=15000)
    listing.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.mode == "listings":
        try_listings(given.directory, given.mirror, given.count, given.seed)
    elif given.mode == "fetch":
        fetch(given.directory, given.mirror)
    elif given.mode == "suites":
        try_suites(given.directory, given.mirror, given.limit)
    else:
        score(given.directory, given.only, given.limit)


if __name__ == "__main__":
    main()
