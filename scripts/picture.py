"""Takes the README's picture again: ``python scripts/picture.py``.

On the left is what the command prints in a terminal of 80 columns, on the right the chart of the
page that `heatsoak report` makes of the same recording: a run on a simulated drive.
"""

import base64
import html
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from contextlib import suppress
from fcntl import ioctl
from io import BytesIO, StringIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console  # noqa: TID251
from rich.terminal_theme import MONOKAI
from rich.text import Text  # noqa: TID251

PICTURE = Path(__file__).parents[1] / "docs/first-look.png"
WORDS = ("run", "quick", "--on", "sim:pcie4-tlc-1tb@laptop", "-o", "laptop")
COLUMNS = 80
_PAGE = """
<!doctype html>
<meta charset="utf-8">
<style>
  body {{ margin: 0; background: #fff; width: 960px; display: flex; align-items: stretch; }}
  pre {{ margin: 0; padding: 16px 14px; background: #16181c; color: #e6e6e6;
         font: 11.2px/1.7 "DejaVu Sans Mono", monospace; flex: none; box-sizing: border-box;
         width: 572px; }}
  img {{ width: 372px; margin-left: 16px; align-self: center; }}
</style>
<body><pre><span style="color: #8a8f98">$</span> {command}
{shown}</pre><img src="data:image/png;base64,{chart}"></body>
"""


def in_terminal(*words: str, cwd: Path) -> str:
    """Return what heatsoak prints on a terminal, with its colours as escapes."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    command = [sys.executable, "-m", "heatsoak", *words]
    env = os.environ | {"TERM": "xterm-256color"}
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdout=theirs, stderr=subprocess.DEVNULL
    ) as running:
        os.close(theirs)
        printed = b""
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while piece := os.read(ours, 65536):
                printed += piece
    if running.returncode != 0:
        raise SystemExit(f"heatsoak ended with exit code {running.returncode}")
    return printed.decode("utf-8")


def as_html(printed: str) -> str:
    """Return a terminal's text as HTML."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), color_system="truecolor")
    text = Text.from_ansi(printed.replace("\r\n", "\n"))
    text.no_wrap = False
    lines = text.wrap(console, COLUMNS)
    for line in lines:
        line.rstrip()
        console.print(line)
    return console.export_html(theme=MONOKAI, inline_styles=True, code_format="{code}")


def chart_of(page: Path, browser: Browser) -> bytes:
    """Return the picture of the write's chart: throughput and temperature."""
    tab = browser.new_page(viewport={"width": 460, "height": 2000}, device_scale_factor=2)
    tab.goto(page.as_uri())
    # of all steps the one that fell the deepest is open: the write
    figure = tab.locator(".workload[open] figure").first
    figure.wait_for()
    # the page's buttons and its sticky navigation say nothing in a picture
    tab.add_style_tag(content="nav, header, figure button { display: none !important }")
    tab.wait_for_timeout(500)
    whole, power = figure.bounding_box(), figure.get_by_text("Power", exact=True).bounding_box()
    assert whole is not None
    assert power is not None
    return tab.screenshot(clip={**whole, "height": power["y"] - whole["y"] - 8})


def main() -> None:
    """Run, report, and take the picture."""
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        place = Path(directory)
        printed = in_terminal(*WORDS, cwd=place)
        in_terminal("report", "laptop", "-o", "laptop.html", cwd=place)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        chart = base64.b64encode(chart_of(place / "laptop.html", browser)).decode()
        tab = browser.new_page(viewport={"width": 960, "height": 100}, device_scale_factor=2)
        command = html.escape(f"heatsoak {' '.join(WORDS)}")
        tab.set_content(_PAGE.format(command=command, shown=as_html(printed), chart=chart))
        picture = Image.open(BytesIO(tab.locator("body").screenshot()))
        picture.quantize(256).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
