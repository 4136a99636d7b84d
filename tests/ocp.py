"""The Open Compute Project's lines, as tests read them."""

import json
from pathlib import Path
from typing import Any

from ocptv import output as ocptv


def ocp_lines(path: Path) -> list[dict[str, Any]]:
    """Return the artifacts of OCP's lines, each with its kind, after looking at their frame."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line.pop("sequenceNumber") for line in lines] == list(range(len(lines)))
    assert all(line.pop("timestamp").endswith("Z") for line in lines)
    major, minor = ocptv.__spec_version__.value
    assert lines.pop(0) == {"schemaVersion": {"major": major, "minor": minor}}
    found = []
    for line in lines:
        ((place, artifact),) = line.items()
        step = artifact.pop("testStepId", None)
        assert (place == "testStepArtifact") == (step is not None)
        ((kind, content),) = artifact.items()
        found.append({"kind": kind, "step": step, **content})
    return found
