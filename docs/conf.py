"""The documentation as a site: ``make docs``.

Pages are Markdown that reads as well in a checkout; what stands in the sidebar is the list "By
topic" of docs/index.md, which says it for both.
"""

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "heatsoak"
author = "the authors of heatsoak"
version = release = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"][
    "version"
]

# the sources are those of the checkout, so that links between docs/ and the rest are the same
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "benches/*.md", "docs/**.md"]
exclude_patterns = ["python", "crates", "web", "tests", "vm", "target", ".*", "build", "dist"]
templates_path = ["_templates"]

# a heading's anchor is what it is on GitHub
myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False
nitpicky = True

html_theme = "furo"
html_title = "heatsoak"
html_static_path = ["_static"]
html_css_files = ["screens.css"]
html_use_index = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
# the start page lies in docs/, and the site's own address leads to it
html_additional_pages = {"index": "to_start.html"}

_TOPICS = "## By topic"
_TOCTREE = """
```{{toctree}}
:hidden:
:caption: {caption}

{entries}
```
"""


def _add_sidebar(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Make the sidebar of the lists below "By topic": a heading is a caption, a link a page."""
    if docname != root_doc:
        return
    topics = source[0].partition(f"\n{_TOPICS}\n")[2]
    for section in re.split(r"^### ", topics, flags=re.MULTILINE)[1:]:
        caption, _, text = section.partition("\n")
        pages = re.findall(r"^- \[(.+?)\]\((.+?)\.md\)", text, flags=re.MULTILINE)
        entries = "\n".join(f"{title} <{page}>" for title, page in pages)
        source[0] += _TOCTREE.format(caption=caption, entries=entries)


def setup(app: Sphinx) -> None:
    """Let Sphinx call what is above."""
    app.connect("source-read", _add_sidebar)
