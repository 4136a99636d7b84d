"""The page as a file: whole in itself, and no text in it becomes markup."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from compared import falling, run, steady
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.make import PAGE_BYTES
from paged import HOSTILE, page_of, series

SCRIPT = 'const end = "</script>", note = "<!--";\r\ndocument.title += "";'
BUNDLE = Bundle.of(SCRIPT, "body { margin: 0 }")


class Parts(HTMLParser):
    """Elements as a browser's parser sees them, with the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._inside = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def hostile() -> tuple[Page, str]:
    recordings = [
        run(
            {"label": text, text[:100]: "v"},
            falling(60, 0.5),
            seed=number,
            drive={"model": text, "serial": text},
            reason=text,
        )
        for number, text in enumerate(HOSTILE)
    ]
    page = page_of(recordings, title="".join(HOSTILE))
    return page, render(page, BUNDLE)


@pytest.mark.slow
def test_hostile_labels_stay_text(hostile: tuple[Page, str]) -> None:
    page, text = hostile
    parts = Parts(text)
    assert [tag for tag, _ in parts.tags if tag == "script"] == ["script"] * 2
    assert "<!--" not in text.split("</title>")[1]
    assert Page.model_validate_json(parts.scripts[0]) == page


def test_only_the_program_may_run(hostile: tuple[Page, str]) -> None:
    parts = Parts(hostile[1])
    (policy,) = [
        attrs["content"] for tag, attrs in parts.tags if "http-equiv" in attrs and tag == "meta"
    ]
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(parts.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'none'" in policy


def test_nothing_is_fetched(hostile: tuple[Page, str]) -> None:
    for tag, attrs in Parts(hostile[1]).tags:
        assert not {"src", "href"} & attrs.keys(), tag
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")


def test_a_served_page_may_fetch_from_where_it_came(hostile: tuple[Page, str]) -> None:
    assert "connect-src 'self'" in render(hostile[0], BUNDLE, is_served=True)


def test_the_program_cannot_end_its_own_element() -> None:
    assert not re.search("</script|<!--", BUNDLE.script, re.IGNORECASE)
    assert "\r" not in BUNDLE.script


def test_without_scripts_the_page_still_says_its_verdict(hostile: tuple[Page, str]) -> None:
    page, text = hostile
    assert "draws its charts with JavaScript" in text
    assert page.headline.text.split(".")[0] in text


@pytest.mark.long
def test_a_day_and_a_shelf_of_recordings_still_make_a_file_that_can_be_mailed() -> None:
    day = np.full(864_000, 2000.0)
    day[500_000] = 1.0
    recordings = [run({"n": 0}, day, sigma=0.1)]
    recordings += [run({"n": number}, steady(2000), seed=number) for number in range(1, 5)]
    page = page_of(recordings)
    # with room for the program
    assert len(render(page, BUNDLE).encode()) < PAGE_BYTES - 150_000
    track = page.workloads[0].lines[0].tracks[0]
    assert track.samples == 864_000
    assert min(series(page, track)[1]) < 2
    assert any("fewer points than were recorded" in note for note in page.notes)
