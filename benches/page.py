"""The page of Puget's matrix beside the same series in plotly and bokeh: size, making, drawing.

    python benches/page.py [DIRECTORY]    with DIRECTORY, the recordings of a matrix that is there

All three files are whole in themselves, with their libraries inside. Making is in processor
seconds, without the judging and the reading of samples that all have in common; drawing is from the
navigation's start until everything that is to be seen is drawn, the median of some.
"""

import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import matrix
from heatsoak.analysis import analyze
from heatsoak.bench.fleet import WORKERS
from heatsoak.recording import Recording, find_recordings
from heatsoak.report.page.contract import ChartSeries, Page
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.make import make_page
from heatsoak.report.page.packing import decoded, unpacked

T = TypeVar("T")
DRAWS, WIDTH, HEIGHT, TALL = 5, 1280, 900, 12_000
CHROMIUM = "/usr/bin/chromium"
#: What a reviewer looks at; more would be no fairer.
SHOWN = ("throughput", "temperature", "power")
DRAWN = "performance.getEntriesByName('heatsoak-drawn').length > 0"
WHEN = "performance.getEntriesByName('heatsoak-drawn')[0].startTime"
#: Bokeh tells that it is done, but nobody of it.
WATCH = """
const look = () => window.Bokeh && Bokeh.documents.length && Bokeh.documents.every((d) => d.is_idle)
    ? performance.mark('heatsoak-drawn') : requestAnimationFrame(look);
if (!document.currentScript) requestAnimationFrame(look);
"""


@dataclass
class Made:
    """A file, and what it took."""

    name: str
    path: Path
    made_s: float

    @property
    def size_mb(self) -> float:
        return self.path.stat().st_size / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        if len(sys.argv) > 1 and Path(sys.argv[-1]).is_dir():
            recordings = find_recordings(Path(sys.argv[-1]))
        else:
            recordings = matrix.record(place / "matrix", [], WORKERS)[1]
        whole_s = command_s(recordings, place)
        analyze(recordings[:1])  # what is loaded late is loaded
        judging_s, findings = timed(lambda: analyze(recordings))
        page_s, page = timed(lambda: make_page(recordings, findings))
        files = [
            heatsoak(page, page_s, place / "heatsoak.html"),
            *(make(page, place) for make in (plotly, bokeh) if is_there(make.__name__)),
        ]
        rates = [t for w in page.workloads for line in w.lines for t in line.tracks]
        print(
            f"{len(recordings)} recordings, {sum(track.samples for track in rates):,} points in "
            f"{len(rates)} series, {sum(track.v.count for track in rates):,} of them on the page; "
            f"judged in {judging_s:.2f} s, page made and rendered in {files[0].made_s:.2f} s; "
            f"'heatsoak report' all in all {whole_s:.2f} s of the processor"
        )
        tell(files, page)


def tell(files: list[Made], page: Page) -> None:
    """Print a line for each file, and ratios to the first."""
    if not is_there("playwright") or not Path(CHROMIUM).exists():
        for made in files:
            print(f"{made.name}: {made.size_mb:.2f} MB, made in {made.made_s:.2f} s")
        print("not drawn: playwright or chromium is missing")
        return
    first = None
    for made, seen, everything in drawn(files):
        first = first or (made, seen, everything)
        print(
            f"{made.name:>8}: {made.size_mb:5.2f} MB ({made.size_mb / first[0].size_mb:4.1f}x), "
            f"made in {made.made_s:5.2f} s ({made.made_s / first[0].made_s:4.1f}x), drawn in "
            f"{seen:.2f} s ({seen / first[1]:.1f}x) with a window of {HEIGHT} pixels, in "
            f"{everything:.2f} s ({everything / first[2]:.1f}x) with one as tall as the page"
        )
    print(f"plotly and bokeh: {', '.join(SHOWN)} of {len(page.recordings)} recordings alone")


def heatsoak(page: Page, page_s: float, path: Path) -> Made:
    """The page as `heatsoak report` writes it."""
    rendered_s, text = timed(lambda: render(page, Bundle.load()))
    path.write_text(text, "utf-8")
    return Made("heatsoak", path, page_s + rendered_s)


def plotly(page: Page, place: Path) -> Made:
    """The same series in rows that share their time axis, as plotly draws them."""
    from plotly import graph_objects
    from plotly.subplots import make_subplots

    series = list(shown(page))

    def make() -> None:
        rows = len(page.workloads) * len(SHOWN)
        figure = make_subplots(rows=rows, cols=1)
        for row, label, t_s, values in series:
            figure.add_trace(graph_objects.Scatter(x=t_s, y=values, name=label), row=row + 1, col=1)
        figure.update_layout(height=300 * rows, title=page.title)
        mark = "performance.mark('heatsoak-drawn')"
        figure.write_html(place / "plotly.html", include_plotlyjs=True, post_script=mark)

    return Made("plotly", place / "plotly.html", timed(make)[0])


def bokeh(page: Page, place: Path) -> Made:
    """The same series in a column of figures, as bokeh draws them."""
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    series = list(shown(page))

    def make() -> None:
        rows = len(page.workloads) * len(SHOWN)
        figures = [figure(width=1100, height=300) for _ in range(rows)]
        for row, label, t_s, values in series:
            figures[row].line(t_s, values, legend_label=label)
        text = file_html(column(*figures), INLINE, page.title)
        (place / "bokeh.html").write_text(text, "utf-8")

    return Made("bokeh", place / "bokeh.html", timed(make)[0])


def shown(page: Page) -> Iterator[tuple[int, str, Any, Any]]:
    """Yield row, label, times and values of what all three draw."""
    columns = unpacked(page.data)
    for number, workload in enumerate(page.workloads):
        for line in workload.lines:
            found: dict[str, ChartSeries] = {}
            for track in line.tracks:
                found.setdefault(track.quantity, track)
            for place, quantity in enumerate(SHOWN):
                if quantity in found:
                    track = found[quantity]
                    values = decoded(columns, track.v)
                    t_s = decoded(columns, track.t)
                    yield number * len(SHOWN) + place, line.label, t_s, values


def drawn(files: list[Made]) -> Iterator[tuple[Made, float, float]]:
    """Yield each file with the seconds until its first screen and all of it are drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        words = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=words)
        for made in files:
            took = []
            for height in (HEIGHT, TALL):
                times_s = []
                for _ in range(DRAWS):
                    size: Any = {"width": WIDTH, "height": height}
                    tab = browser.new_page(viewport=size, bypass_csp=True)
                    if made.name == "bokeh":
                        tab.add_init_script(WATCH)
                    tab.goto(made.path.as_uri())
                    tab.wait_for_function(DRAWN)
                    times_s.append(tab.evaluate(WHEN) / 1000)
                    tab.close()
                took.append(statistics.median(times_s))
            yield made, took[0], took[1]
        browser.close()


def command_s(recordings: list[Recording], place: Path) -> float:
    """Processor seconds of the whole command, in a process of its own."""
    paths = [str(recording.path) for recording in recordings]
    words = [sys.executable, "-m", "heatsoak", "report", *paths, "-o", str(place / "whole.html")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def timed(do: Callable[[], T]) -> tuple[float, T]:
    """Return the processor seconds that something took, and what it gave."""
    begin = time.process_time()
    given = do()
    return time.process_time() - begin, given


def is_there(name: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    main()
