"""A page that is served while a recording goes on: samples come, and the reader's zoom stays."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np
import pytest
from browsed import Opened, with_one_line
from heatsoak.report.page.contract import Appended, Page
from heatsoak.report.page.html import Bundle, render
from pixels import colored

pytest_plugins = ["browsed"]
pytestmark = pytest.mark.slow


class Served:
    """A server of one page; `say` sends an event to whoever listens."""

    def __init__(self, page: Page, bundle: Bundle) -> None:
        self.page = page
        self.html = render(page, bundle, is_served=True)
        self.events: Queue[str | None] = Queue()
        self.knows_nobody = False
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if served.knows_nobody:
                    self.send_error(403)
                elif self.path == "/events":
                    self.answer("text/event-stream", b"")
                    while (event := served.events.get()) is not None:
                        self.wfile.write(event.encode())
                        self.wfile.flush()
                elif self.path == "/page.json":
                    self.answer("application/json", served.page.model_dump_json().encode())
                elif self.path == "/":
                    self.answer("text/html; charset=utf-8", served.html.encode())
                else:
                    self.send_error(404)

            def answer(self, kind: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def say(self, name: str, data: object) -> None:
        self.events.put(f"event: {name}\ndata: {json.dumps(data)}\n\n")

    def close(self) -> None:
        self.events.put(None)
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def live_page(matrix_page: Page) -> Page:
    """One line of which 30 s are there."""
    page = with_one_line(matrix_page, np.arange(1, 301) / 10, np.full(300, 900.0), is_live=True)
    running = page.recordings[0].model_copy(update={"status": "running"})
    return page.model_copy(update={"recordings": [running]})


@pytest.fixture
def served(live_page: Page, bundle: Bundle) -> Iterator[Served]:
    made = Served(live_page, bundle)
    yield made
    made.close()


def more(page: Page, from_s: int, to_s: int) -> list[dict[str, Any]]:
    t_s = [i / 10 for i in range(10 * from_s, 10 * to_s)]
    track = page.workloads[0].lines[0].tracks[0].name
    appended = Appended(workload="w1", recording=0, track=track, t=t_s, v=[400.0] * len(t_s))
    return [appended.model_dump()]


def at_end(tab: Any) -> str:
    """What the page tells of the last moment that it shows."""
    tab.locator("#w1 .chart").focus()
    tab.keyboard.press("End")
    return str(tab.locator("#w1 .chart [aria-live]").inner_text())


def test_new_samples_come_into_the_chart_and_leave_the_zoom(browser: Any, served: Served) -> None:
    opened = Opened(browser.new_page())
    tab, until = opened.tab, opened.until
    tab.on("pageerror", lambda error: opened.faults.append(str(error)))
    tab.goto(served.url)
    until(lambda: tab.locator("#w1 canvas").count())
    assert at_end(tab).startswith("30.0")
    assert "900" in at_end(tab)
    served.say("append", more(served.page, 31, 60))
    until(lambda: at_end(tab).startswith("59.9"))
    assert "400" in at_end(tab)
    assert colored(tab, "#w1") > 200
    tab.keyboard.press("+")
    zoomed = at_end(tab)
    served.say("append", more(served.page, 60, 90))
    tab.wait_for_timeout(200)
    assert at_end(tab) == zoomed
    tab.keyboard.press("0")
    until(lambda: at_end(tab).startswith("89.9"))

    # The whole page is fetched anew: what the reader has chosen stays.
    tab.keyboard.press("+")
    zoomed = at_end(tab)
    tab.locator("#w1 details > summary").first.click()
    step = served.page.recordings[0].findings.steps[0].model_copy(update={"duration_s": 90.0})
    findings = served.page.recordings[0].findings.model_copy(update={"steps": [step]})
    recording = served.page.recordings[0].model_copy(
        update={"findings": findings, "status": "finished"}
    )
    served.page = served.page.model_copy(
        update={"title": "all is done", "is_live": False, "recordings": [recording]}
    )
    served.say("page", {})
    until(lambda: tab.title() == "all is done")
    until(lambda: tab.locator("#w1 canvas").count())
    assert tab.locator(".live").count() == 0
    assert tab.locator("#w1 details[open]").count() == 1
    assert at_end(tab).split(" ")[0] == zoomed.split(" ")[0]
    assert opened.faults == []
    tab.close()


def test_samples_of_a_track_that_the_page_has_not_make_it_fetch_the_page(
    browser: Any, served: Served
) -> None:
    opened = Opened(browser.new_page())
    tab, until = opened.tab, opened.until
    tab.goto(served.url)
    until(lambda: tab.locator("#w1 canvas").count())
    served.page = served.page.model_copy(update={"title": "another step began"})
    unknown = [{**one, "workload": "w2"} for one in more(served.page, 31, 32)]
    served.say("append", unknown)
    until(lambda: tab.title() == "another step began")
    tab.close()


def test_a_page_whose_server_was_started_anew_says_that_it_is_no_longer_live(
    browser: Any, served: Served
) -> None:
    opened = Opened(browser.new_page())
    tab, until = opened.tab, opened.until
    tab.goto(served.url)
    until(lambda: tab.locator(".live").inner_text() == "live")
    served.knows_nobody = True
    served.events.put(None)
    until(lambda: tab.locator(".live").inner_text() == "no longer live")
    tab.close()
