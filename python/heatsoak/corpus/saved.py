"""Labelled cases as files: ordinary recordings, and the truth beside them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heatsoak.corpus.labels import Labelled, TrueEpisode

TRUTH = "truth.json"


def truth_document(labelled: Labelled) -> dict[str, Any]:
    """Return what `truth.json` holds; docs/corpus.md describes its keys."""
    return {
        "schema_version": 1,
        "seed": labelled.seed,
        "choices": asdict(labelled.choices),
        "recordings": [
            {
                "path": str(number),
                "steps": [
                    {
                        "step": step,
                        "verdict": verdict,
                        "episodes": _of(labelled.truth, number, step),
                        "grey": _of(labelled.grey, number, step),
                    }
                    for (index, step), verdict in labelled.verdicts.items()
                    if index == number
                ],
            }
            for number in range(len(labelled.recordings))
        ],
    }


def save(labelled: Labelled, directory: Path) -> None:
    """Write a case: each recording to a directory named by its number, and `truth.json`.

    Raises UsageError where something stands there already, ToolError where it cannot be written.
    """
    for number, recording in enumerate(labelled.recordings):
        recording.save(directory / str(number))
    text = json.dumps(truth_document(labelled), indent=1)
    (directory / TRUTH).write_text(text + "\n", "utf-8")


def _of(episodes: list[TrueEpisode], number: int, step: str) -> list[dict[str, Any]]:
    found = [asdict(one) for one in episodes if one.recording == number and one.step == step]
    return [
        {key: value for key, value in one.items() if key not in ("recording", "step")}
        for one in found
    ]
