"""The index page: all recordings, newest first."""

import datetime
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import PurePosixPath
from urllib.parse import quote

from heatsoak.analysis import Answer
from heatsoak.analysis.findings import Throttles
from heatsoak.output import printable
from heatsoak.serve.library import Entry, NoAnswer, Unread
from heatsoak.words import duration_text, labels_text, shortened

#: Recordings that one page may show.
MAX_TOGETHER = 200

#: What was found of each recording, by its name; None while it is not judged.
Answers = Mapping[str, Answer | NoAnswer | None]

_WORDS: dict[Throttles, str] = {
    "yes": "throttles",
    "no": "did not throttle",
    "cannot-tell": "cannot tell",
    "not-loaded": "not loaded",
}
#: How soon the list is fetched again, and while recordings are being judged.
_AGAIN_S, _SOON_S = 15, 3

_STYLE = """
:root { color-scheme: light dark; --line: #ccd; --dim: #667; --link: #0b5394; --live: #a83200; }
@media (prefers-color-scheme: dark) {
  :root { --line: #445; --dim: #9aa; --link: #8ec4ff; --live: #ffb08a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
a { color: var(--link); }
.dim { color: var(--dim); }
.live, .yes { color: var(--live); font-weight: 600; }
"""


def listing(
    entries: Sequence[Entry], unread: Sequence[Unread], where: str, answers: Answers
) -> str:
    """Return the index page as HTML; `where` is the directory that is shown."""
    rows = "\n".join(_row(entry, answers.get(entry.name)) for entry in entries)
    is_open = any(answers.get(entry.name) is None and not entry.is_running for entry in entries)
    together = "\n".join(_together(name, count) for name, count in _groups(entries))
    table = (
        "<div><table><thead><tr><th>Recording</th><th>Answer</th><th>Drive</th>"
        f"<th>Conditions</th><th>Protocol</th><th>Started</th><th>State</th></tr></thead><tbody>{rows}</tbody>"
        "</table></div>"
        if entries
        else ""
        if unread
        else "<p>No recordings yet: make one with <code>heatsoak run</code>.</p>"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="{_SOON_S if is_open else _AGAIN_S}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>heatsoak: recordings</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Recordings</h1>
<p class="dim">{_text(where)}</p>
{f"<ul>{together}</ul>" if together else ""}
{table}
{_unread(unread)}
</main>
</body>
</html>
"""


def address(name: str) -> str:
    """Return the URL path of a recording's page, or of the page of a directory's recordings."""
    return "/r/" if name == "." else f"/r/{quote(name)}/"


def _unread(unread: Sequence[Unread]) -> str:
    if not unread:
        return ""
    rows = "\n".join(
        f"<tr><td>{_text(one.name)}</td><td>{_text(one.why)}</td></tr>" for one in unread
    )
    return (
        "<h2>Unreadable recordings</h2><div><table><thead><tr><th>Directory</th><th>Why</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _row(entry: Entry, answer: Answer | NoAnswer | None) -> str:
    meta = entry.recording.meta
    drive = meta.drive.get("model") or meta.drive.get("path") or "a drive"
    simulated = ' <span class="dim">(simulated)</span>' if meta.drive.get("simulated") else ""
    cells = [
        f'<a href="{escape(address(entry.name))}">{_text(entry.name)}</a>',
        _answer(entry, answer),
        _text(str(drive)) + simulated,
        _text(labels_text(meta.conditions)),
        _text(meta.protocol.name),
        escape(_start_time(meta.started_unix_s)),
        _state(entry),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _answer(entry: Entry, answer: Answer | NoAnswer | None) -> str:
    """What the recording shows on its own, as its page says."""
    if entry.is_running:
        return '<span class="dim">when it is finished</span>'
    if answer is None:
        return '<span class="dim">being judged</span>'
    if isinstance(answer, NoAnswer):
        return f'<span class="dim">cannot be judged: {_text(answer.why)}</span>'
    word = f'<span class="{answer.throttles}">{_WORDS[answer.throttles]}</span>'
    return f'{word}<br><span class="dim">{_text(answer.sentence)}</span>'


def _state(entry: Entry) -> str:
    meta = entry.recording.meta
    if entry.is_running:
        return '<span class="live">running</span>'
    if entry.recording.was_cut:
        return "cut"
    lasted = "" if meta.duration_s is None else f", {duration_text(meta.duration_s)}"
    return escape(f"{meta.status}{lasted}")


def _start_time(started_unix_s: float | None) -> str:
    if started_unix_s is None:
        return ""
    try:
        started = datetime.datetime.fromtimestamp(started_unix_s)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{started:%Y-%m-%d %H:%M}"


def _groups(entries: Sequence[Entry]) -> list[tuple[str, int]]:
    """Directories with several recordings, and their number."""
    counts: dict[str, int] = {}
    for entry in entries:
        for parent in PurePosixPath(entry.name).parents:
            counts[str(parent)] = counts.get(str(parent), 0) + 1
    return sorted((name, count) for name, count in counts.items() if 1 < count <= MAX_TOGETHER)


def _together(name: str, count: int) -> str:
    what = "all recordings" if name == "." else name
    return f'<li><a href="{escape(address(name))}">{_text(what)}: {count} together</a></li>'


def _text(text: str) -> str:
    return escape(shortened(printable(text), 200))
