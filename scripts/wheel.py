"""Makes the source archive and the wheel in ``dist/``, and tries them where nothing else is.

``make wheel`` runs it on Linux. The wheel is made from the archive, without Node on the PATH, and
must run on any Linux with glibc 2.17 (manylinux2014) and any Python from 3.11 (abi3). Then it is
installed in an environment of its own, where neither Rust nor Node is found, and used there.
What its demo made and said stays in ``target/wheel-demo``, where the tests look at it. Printed at
the end: its size, and the time from ``pip install`` to the demo's table.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TARGET = ROOT / "target"
#: As `tests/test_demo.py` would make it.
DEMO = TARGET / "wheel-demo"
RUST = {"cargo", "rustc", "rustup", "maturin"}
NODE = {"node", "nodejs", "npm", "npx"}
GLIBC = "2_17"
SETTINGS = "build-args=--compatibility manylinux2014 --zig"
#: What git does not hold, and a wheel could therefore lack.
MADE = (
    "heatsoak/_core.abi3.so",
    "heatsoak/nbd/heatsoak_nbd.so",
    "heatsoak/report/page/bundle/page.js",
    "heatsoak/report/page/bundle/page.css",
)


def main() -> None:
    """Make both, try them, and print what was measured."""
    TARGET.mkdir(exist_ok=True)
    # beside the checkout's own results, so that quick loads the same disk
    with tempfile.TemporaryDirectory(prefix="fresh place ", dir=TARGET) as name:
        place = Path(name)
        wheel = make_wheel(make_archive(), environment(place / "no Node", NODE))
        check_content(wheel)
        check_platform(wheel)
        seconds = use(wheel, place, environment(place / "no Rust, no Node", RUST | NODE))
    print(f"\n{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    print(f"{seconds:.0f} s from 'pip install' to the table of 'heatsoak demo'")


def make_archive() -> Path:
    """Make the source archive of this tree."""
    for old in DIST.glob("heatsoak-*"):
        old.unlink()
    words = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(DIST)]
    do(words, env=with_build_tools(os.environ))
    return only(DIST.glob("*.tar.gz"))


def make_wheel(archive: Path, env: Mapping[str, str]) -> Path:
    """Make the wheel from the archive, as pip does for who has no wheel for their machine."""
    words = [
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(DIST),
    ]
    # what heatsoak depends on is built once
    env = {**with_build_tools(env), "CARGO_TARGET_DIR": str(TARGET)}
    expect(not any(shutil.which(tool, path=env["PATH"]) for tool in NODE), "Node is on the PATH")
    do([sys.executable, "-m", *words, "--config-settings", SETTINGS, str(archive)], env=env)
    return only(DIST.glob("*.whl"))


def check_content(wheel: Path) -> None:
    """Fail unless all that is made by other means than git's is inside."""
    names = set(zipfile.ZipFile(wheel).namelist())
    expect(names.issuperset(MADE), f"{wheel.name} lacks {sorted(set(MADE) - names)}")
    expect(any(name.endswith("/man/man1/heatsoak.1") for name in names), "it has no manual pages")
    expect(not any(name.startswith("heatsoak_dev/") for name in names), "heatsoak_dev is inside")


def check_platform(wheel: Path) -> None:
    """Fail unless name and libraries, the plugin's among them, are good for old systems."""
    *_, tags = parse_wheel_filename(wheel.name)
    platforms = {tag.platform for tag in tags}
    expect({(tag.interpreter, tag.abi) for tag in tags} == {("cp311", "abi3")}, "it is not abi3")
    expect(
        all(one.startswith((f"manylinux_{GLIBC}_", "manylinux2014_")) for one in platforms),
        f"its platforms are {sorted(platforms)}",
    )
    audit = [str(Path(sys.executable).with_name("auditwheel")), "show"]
    do([*audit, str(wheel)])
    words = [*audit, "--json", str(wheel)]
    told = subprocess.run(words, check=True, capture_output=True, text=True)
    tag = json.loads(told.stdout)["overall_tag"]
    expect(tag in platforms, f"auditwheel calls it {tag}: see above which library needs that")


def use(wheel: Path, place: Path, env: Mapping[str, str]) -> float:
    """Install and use the wheel as a new user; return the seconds from pip to the demo's table."""
    found = [tool for tool in RUST | NODE if shutil.which(tool, path=env["PATH"])]
    expect(not found, f"{found} are on the PATH of the fresh environment")
    venv.create(place / "environment", with_pip=True)
    programs = place / "environment" / "bin"
    work = place / "work"
    work.mkdir()

    start_s = time.monotonic()
    limits = ["--constraint", str(ROOT / "constraints.txt")]
    do([str(programs / "pip"), "install", "--quiet", *limits, str(wheel)], cwd=work, env=env)
    heatsoak = str(programs / "heatsoak")
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    table_s = demo(heatsoak, env)
    for made in ("findings.json", "report.html"):
        expect((DEMO / "demo" / made).stat().st_size > 0, f"demo made no {made}")

    (work / "a directory").mkdir()
    words = ("run", "quick", "--set", "runtime=10s", "--on", "a directory", "-o", "quick")
    do([heatsoak, *words], cwd=work, env=env)
    do([heatsoak, "analyze", "quick"], cwd=work, env=env)
    do([heatsoak, "report", "quick", "-o", "x.html"], cwd=work, env=env)
    page = (work / "x.html").read_text("utf-8")
    script = zipfile.ZipFile(wheel).read("heatsoak/report/page/bundle/page.js").decode()
    expect(script[:200] in page, "the page is without its program")

    package = only((place / "environment").glob("lib/python*/site-packages/heatsoak"))
    do(["nbdkit", "--dump-plugin", str(package / "nbd" / "heatsoak_nbd.so")], cwd=work, env=env)
    return table_s - start_s


def demo(heatsoak: str, env: Mapping[str, str]) -> float:
    """Run the demo, and return when it printed its table; its exit code must be 0."""
    words = [heatsoak, "demo", "-o", "demo"]
    show(words)
    printed_s, lines = None, []
    with (
        (DEMO / "stderr").open("w+") as errors,
        subprocess.Popen(
            words, cwd=DEMO, env=env, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
            if "Onset" in line and printed_s is None:
                printed_s = time.monotonic()
        process.wait()
        errors.seek(0)
        said = {"returncode": process.returncode, "stdout": "".join(lines), "stderr": errors.read()}
    (DEMO / "said").write_text(json.dumps(said), "utf-8")
    expect(process.returncode == 0, f"exit code {process.returncode}: {said['stderr']}")
    expect(printed_s is not None, "it printed no table")
    return printed_s or 0.0


def environment(links: Path, hidden: Collection[str]) -> dict[str, str]:
    """Return our environment, with a PATH where all programs are but the hidden ones."""
    links.mkdir()
    for directory in map(Path, os.get_exec_path()):
        if not directory.is_dir() or directory == Path(sys.executable).parent:
            continue
        for program in directory.iterdir():
            link = links / program.name
            if program.name not in hidden and not link.is_symlink():
                link.symlink_to(program.absolute())
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**ours, "PATH": str(links)}


def with_build_tools(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which maturin and zig of this Python's environment are found.

    What is built of one commit is the same each time, the times of its files among it.
    """
    here = Path(sys.executable).parent
    words = ["git", "log", "-1", "--format=%ct"]
    told = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    when = {"SOURCE_DATE_EPOCH": told.stdout.strip()} if told.returncode == 0 else {}
    return {**when, **env, "PATH": os.pathsep.join([str(here), env["PATH"]])}


def do(words: list[str], cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Run a command, shown before; end with its exit code unless that is 0."""
    show(words)
    code = subprocess.run(words, cwd=cwd, env=env, check=False).returncode
    expect(code == 0, f"exit code {code} of {' '.join(words)}")


def show(words: list[str]) -> None:
    """Print a command, with its program's name alone."""
    print("\n$", Path(words[0]).name, *words[1:], flush=True)


def expect(holds: bool, otherwise: str) -> None:
    """End with exit code 1 and one line unless something holds."""
    if not holds:
        sys.exit(f"make wheel: {otherwise}")


def only(paths: Iterator[Path]) -> Path:
    """Return the one path there is."""
    found = list(paths)
    expect(len(found) == 1, f"one file was to be made, there are {[str(path) for path in found]}")
    return found[0]


if __name__ == "__main__":
    main()
