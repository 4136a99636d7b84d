"""What can be seen in a chart that is drawn on a canvas."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.int64]


def pixels_of(tab: Any, within: str) -> Pixels:
    """Return the first canvas within something: rows, columns, and red, green, blue, opacity."""
    drawn = tab.locator(f"{within} canvas").first.evaluate("canvas => canvas.toDataURL()")
    with Image.open(io.BytesIO(base64.b64decode(drawn.partition(",")[2]))) as image:
        return np.asarray(image.convert("RGBA")).astype(np.int64)


def colored(tab: Any, chart: str) -> int:
    """Return how many pixels of the chart's first canvas have a line's full colour.

    Grids are grey, what steps back is pale.
    """
    found = pixels_of(tab, chart)
    return int(np.sum((found[..., 3] > 200) & (np.ptp(found[..., :3], axis=-1) > 80)))
