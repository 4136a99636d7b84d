"""What several test modules use."""

import os
import signal
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import janitor
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from guarded import MakeDrive

# machines are shared and noisy: no test is about time; what is tried is the same in each run
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("inner-loop", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("soak", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("fixed")

# several processes share the cores already
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# tests that run beside each other load one disk, which two runs must not; each process of theirs
# has locks of its own
_locks = janitor.begin() / "locks"
_locks.mkdir()
os.environ["HEATSOAK_LOCKS"] = str(_locks)
os.environ["HEATSOAK_STATE"] = str(_locks.with_name("state"))

# what a terminal, a CI service or the user's settings say about output changes what is printed;
# a test that is about one of these sets it itself
for _name in (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS"),
    *("CI", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERMINAL_WIDTH"),
    *("LANGUAGE", "PYTHONWARNINGS", "PYTHONIOENCODING"),
):
    os.environ.pop(_name, None)
os.environ |= {"LC_ALL": "C.UTF-8", "TERM": "dumb"}  # the tools' messages are compared too

# a user's PATH may leave out where Debian keeps mount, losetup and mkfs
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# who starts the tests in the background or by nohup has these ignored, and every process that a
# test starts would ignore them too; one that is caught here has its default there
if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in ("SIGHUP", "SIGQUIT", "SIGTERM"):
    _number = getattr(signal, _name, None)  # Windows has one of them
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


#: What tests draw by chance where nobody asks for another seed.
FIXED_SEED = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed",
        type=int,
        default=FIXED_SEED,
        help="what tests draw by chance: faults, damage, words; make soak gives fresh ones",
    )
    parser.addoption(
        "--demo", help="look at this demo, such as target/wheel-demo of make wheel, and make none"
    )


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """What a test that draws by chance begins with: the same in each run, fresh in `make soak`."""
    value: int = request.config.getoption("--seed")
    return value


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what other systems cannot even import: all but modules of tests for any system."""
    if sys.platform == "linux" or not collection_path.match("test_*.py"):
        return None
    return "mark.anywhere" not in collection_path.read_text("utf-8") or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, or the last of several processes is alone with it.

    Each process is dealt one stretch of the items: in each, slow tests come first. They are told
    by their marks, those that may take longest by their time limits.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return

    def limit_s(item: pytest.Item) -> float:
        mark = item.get_closest_marker("timeout")
        return mark.args[0] if mark else 0.0

    slow = [item for item in items if item.get_closest_marker("slow")]
    slow.sort(key=limit_s, reverse=True)
    fast = [item for item in items if not item.get_closest_marker("slow")]

    def part(of: list[pytest.Item], index: int) -> list[pytest.Item]:
        return of[index * len(of) // workers : (index + 1) * len(of) // workers]

    # neighbours share what their module makes for them, and stay together
    items[:] = [item for index in range(workers) for of in (slow, fast) for item in part(of, index)]


#: Drives as small as are still drives: what they are made of, and 8 GB in place of 512 or 2000.
_SMALL = {
    'model = "Samsung SSD 950 PRO 512GB"': 'model = "Samsung SSD 950 PRO 8GB"',
    "user_bytes = { value = 512110190592,": "user_bytes = { value = 8001720320,",
    "raw_bytes = { value = 549755813888,": "raw_bytes = { value = 8589934592,",
    "block_bytes = { value = 268435456,": "block_bytes = { value = 4194304,",
    "erase_us = { value = 4000,": "erase_us = { value = 62.5,",  # as long for each byte
}
_SMALL_HOT = {
    "user_bytes = { value = 2000398934016,": "user_bytes = { value = 7814057984,",
    "raw_bytes = { value = 2199023255552,": "raw_bytes = { value = 8589934592,",
    "reserve_bytes = { value = 42949672960,": "reserve_bytes = { value = 167772160,",
    "block_bytes = { value = 2147483648,": "block_bytes = { value = 8388608,",
    "erase_us = { value = 5000,": "erase_us = { value = 19.53125,",
    "bytes = { value = 663572447232,": "bytes = { value = 2592079872,",
}
_CACHED = {
    "user_bytes = { value = 1000204886016,": "user_bytes = { value = 125025607680,",
    "raw_bytes = { value = 1099511627776,": "raw_bytes = { value = 137438953472,",
    "reserve_bytes = { value = 21474836480,": "reserve_bytes = { value = 2684354560,",
    "block_bytes = { value = 1073741824,": "block_bytes = { value = 134217728,",
    "erase_us = { value = 5000,": "erase_us = { value = 625,",
    "bytes = { value = 331786223616,": "bytes = { value = 41473277952,",
}


def _changed(drive: str, changes: dict[str, str]) -> str:
    text = (files("heatsoak.catalog") / "drives" / f"{drive}.toml").read_text("utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="session")
def small_drive_text() -> str:
    """The 950 PRO's file with 8 GB, for tests that its size does not matter to."""
    return _changed("samsung-950-pro-512", _SMALL)


@pytest.fixture(scope="session")
def small_drive(small_drive_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the small drive's file."""
    path = tmp_path_factory.mktemp("drives") / "small.toml"
    path.write_text(small_drive_text, "utf-8")
    return path


@pytest.fixture(scope="session")
def small_hot_drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The PCIe 5.0 drive's file with 8 GB; on a bare board it shuts down."""
    path = tmp_path_factory.mktemp("drives") / "hot.toml"
    path.write_text(_changed("pcie5-tlc-2tb", _SMALL_HOT), "utf-8")
    return path


@pytest.fixture(scope="session")
def cached_drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The PCIe 4.0 drive's file with an eighth of its flash: its cache lasts eight seconds."""
    path = tmp_path_factory.mktemp("drives") / "cached.toml"
    path.write_text(_changed("pcie4-tlc-1tb", _CACHED), "utf-8")
    return path


@pytest.fixture
def make_drive(tmp_path: Path) -> "Iterator[MakeDrive]":
    """A function that attaches empty loop devices; its options are losetup's."""
    from guarded import drives_in  # other systems than Linux cannot import it

    with drives_in(tmp_path) as make:
        yield make
