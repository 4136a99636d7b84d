"""heatsoak: does a drive throttle, when, by how much, and why.

From Python, `heatsoak.open`, `read_log`, `from_frame`, `analyze`, `compare`, `fit`, `predict`,
`advise` and `run` do what the command line does; docs/python.md shows how. They are loaded when
first used, so that importing heatsoak is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heatsoak import errors

if TYPE_CHECKING:
    from heatsoak.analysis import Findings
    from heatsoak.api import (
        advise,
        analyze,
        compare,
        fit,
        from_frame,
        predict,
        read_log,
        run,
    )
    from heatsoak.api import open_recording as open
    from heatsoak.api import open_recordings as open_all
    from heatsoak.comparison import Comparison
    from heatsoak.recording import Recording
    from heatsoak.twin.advise import Advice
    from heatsoak.twin.predict import Prediction
    from heatsoak.twin.twin import Twin

    __version__: str

__all__ = [
    "Advice",
    "Comparison",
    "Findings",
    "Prediction",
    "Recording",
    "Twin",
    "advise",
    "analyze",
    "compare",
    "errors",
    "fit",
    "from_frame",
    "open",
    "open_all",
    "predict",
    "read_log",
    "run",
]

#: Where each name comes from, and its name there.
_LAZY = {
    "Advice": ("heatsoak.twin.advise", "Advice"),
    "Comparison": ("heatsoak.comparison", "Comparison"),
    "Findings": ("heatsoak.analysis", "Findings"),
    "Prediction": ("heatsoak.twin.predict", "Prediction"),
    "Recording": ("heatsoak.recording", "Recording"),
    "Twin": ("heatsoak.twin.twin", "Twin"),
    "advise": ("heatsoak.api", "advise"),
    "analyze": ("heatsoak.api", "analyze"),
    "compare": ("heatsoak.api", "compare"),
    "fit": ("heatsoak.api", "fit"),
    "from_frame": ("heatsoak.api", "from_frame"),
    "open": ("heatsoak.api", "open_recording"),
    "open_all": ("heatsoak.api", "open_recordings"),
    "predict": ("heatsoak.api", "predict"),
    "read_log": ("heatsoak.api", "read_log"),
    "run": ("heatsoak.api", "run"),
}


def __getattr__(name: str) -> Any:
    """Load what is used for the first time."""
    if name == "__version__":
        from importlib.metadata import version  # takes longer than Python takes to start

        found = globals()[name] = version("heatsoak")
        return found
    if name not in _LAZY:
        raise AttributeError(f"module 'heatsoak' has no attribute '{name}'")
    module, there = _LAZY[name]
    found = globals()[name] = getattr(import_module(module), there)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
