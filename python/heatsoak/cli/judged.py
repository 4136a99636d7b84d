"""What `run`, `analyze` and `watch` end with."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from heatsoak.analysis import Findings
from heatsoak.cli.common import OutputFormat, console, print_json
from heatsoak.output import Text
from heatsoak.recording import Recording
from heatsoak.report.findings import print_findings
from heatsoak.report.first_screen import print_first_screen


def print_judged(
    findings: Findings,
    recordings: Sequence[Recording],
    output_format: OutputFormat,
    *,
    evidence: bool,
    paths: Sequence[Path] | None,
) -> None:
    """Print findings in a format: as JSON, on the first screen or with all evidence.

    `paths` are what other commands take to show the same recordings, None if words would not do.
    """
    if output_format is OutputFormat.JSON:
        print_json(findings.model_dump(mode="json"))
        return
    out = console()
    words = None if paths is None else " ".join(shlex.quote(str(path)) for path in paths)
    if evidence:
        print_findings(findings, recordings, out)
    else:
        command = None if words is None else f"heatsoak analyze {words}"
        print_first_screen(findings, recordings, out, command)
    if words is not None:
        out.print(Text(f"charts: heatsoak report {words} -o report.html"), soft_wrap=True)
