"""What can be seen in a chart that is drawn on a canvas."""

from typing import Any

#: How many pixels of a canvas have a line's full colour: grids are grey, what steps back is pale.
_COLORED = """canvas => {
    const {width, height} = canvas;
    const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
        const [least, most] = [Math.min(data[i], data[i + 1], data[i + 2]),
                               Math.max(data[i], data[i + 1], data[i + 2])];
        if (data[i + 3] > 200 && most - least > 80) found++;
    }
    return found;
}"""


def colored(tab: Any, chart: str) -> int:
    """Return how many pixels of the chart's first canvas have a line's full colour."""
    return int(tab.locator(f"{chart} canvas").first.evaluate(_COLORED))
