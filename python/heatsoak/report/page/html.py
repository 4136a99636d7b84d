"""The page as one file: with data, styles and program inside, it fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from heatsoak import tools, writing
from heatsoak.errors import ToolError
from heatsoak.system import is_root

if TYPE_CHECKING:
    from heatsoak.report.page.contract import Page

_BUNDLE = files("heatsoak.report.page") / "bundle"
_MISSING = (
    "this heatsoak was built without the page's program: install Node 20 or newer with npm "
    "(apt-get install nodejs npm), then run 'make build', or 'npm ci && npm run build' in web/; "
    "until then, -o FILE.svg, .png and .csv work"
)
#: Shown until the program replaces it.
_FALLBACK = (
    "This page draws its charts with JavaScript, in a browser of 2023 or later (Firefox 113, "
    "Chrome 111, Safari 16.4). If you can read this, scripts are switched off or the browser is "
    "older: open the file in another one."
)
#: Browsers ask a server for an icon, and log an error if there is none.
_NO_ICON = '<link rel="icon" href="data:,">\n'


@dataclass(frozen=True)
class Bundle:
    """The page's program and styles, ready to be embedded in a page."""

    script: str
    style: str

    @classmethod
    def load(cls) -> Bundle:
        """Return what was built; raises ToolError if it was not."""
        try:
            script = (_BUNDLE / "page.js").read_text("utf-8")
            style = (_BUNDLE / "page.css").read_text("utf-8")
        except OSError as error:
            raise ToolError(_MISSING) from error
        return cls.of(script, style)

    @classmethod
    def of(cls, script: str, style: str) -> Bundle:
        """Return them escaped: the same to JavaScript and CSS, but unable to end an HTML
        element."""
        script, style = (text.replace("\r\n", "\n") for text in (script, style))
        script = re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)
        style = re.sub(r"<(?=/style)", r"\\3c ", style, flags=re.IGNORECASE)
        return cls(script, style)


def render(page: Page, bundle: Bundle, *, is_served: bool = False) -> str:
    """Return the page as HTML; a served one may fetch from its own server, others nothing."""
    # JSON can escape these, and nothing else in it could end a script or start a comment
    data = re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", page.model_dump_json())
    title = escape(page.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(bundle, is_served=is_served)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="{escape(page.made_by)}">
<meta name="description" content="{escape(page.headline.text)}">
{_NO_ICON if is_served else ""}<title>{title}</title>
<style>{bundle.style}</style>
</head>
<body>
<main id="heatsoak">
<h1>{title}</h1>
<p>{escape(page.headline.text)}</p>
<p>{_FALLBACK}</p>
</main>
<script type="application/json" id="heatsoak-page">{data}</script>
<script>{bundle.script}</script>
</body>
</html>
"""


_PRINTS = ("--headless", "--disable-gpu", "--no-pdf-header-footer", "--virtual-time-budget=20000")
_PRINTS_WITHIN_S = 180.0


def browser() -> str:
    """Return the path of a browser that prints pages; raises ToolError if there is none."""
    return tools.find_tool("chromium", "chromium")


def printed(html: str) -> bytes:
    """Return a page as a PDF, as a browser prints it; raises ToolError if it does not."""
    with tempfile.TemporaryDirectory(prefix="heatsoak-") as directory:
        page, pdf = Path(directory) / "page.html", Path(directory) / "page.pdf"
        with writing.output(page, replace=True) as file:
            file.write(html.encode())
        own = [f"--user-data-dir={directory}/browser", f"--print-to-pdf={pdf}"]
        # it has no sandbox for root; the page runs its own program alone, and fetches nothing
        typed = [browser(), *_PRINTS, *own, *(["--no-sandbox"] if is_root() else [])]
        try:
            said = tools.ran([*typed, page.as_uri()], timeout_s=_PRINTS_WITHIN_S).stderr
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
        if not pdf.is_file():
            why = (said.strip() or "it says nothing").splitlines()[-1]
            raise ToolError(f"{typed[0]} did not print the page: {why}")
        return pdf.read_bytes()


def _policy(bundle: Bundle, *, is_served: bool) -> str:
    """What the page may load: itself, and images that it made."""
    origin = "'self'" if is_served else "'none'"
    digest = base64.b64encode(hashlib.sha256(bundle.script.encode()).digest()).decode()
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{digest}'",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            f"connect-src {origin}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
