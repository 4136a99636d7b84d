// Colours and dashes of lines; which a recording has, the page's data say.

import palette from "../../../python/heatsoak/report/page/palette.json";
import type { LineStyle } from "../contract";
import { svg } from "../dom";
import { markCorners } from "./marks";
import { colors, type Shade } from "./colors";

/** The style of measurement number `place` of a recording, where several are drawn. */
export function beside(style: LineStyle, place: number): LineStyle {
  const many = colors("light").lines.length;
  return { color: style.color + place, dash: Math.floor(place / many) };
}

/** The colour of a style in a shade. */
export function lineColor(style: LineStyle, shade: Shade): string {
  const { lines } = colors(shade);
  return lines[style.color % lines.length] ?? "#888888";
}

/** The pattern of a style; `k` enlarges it. */
export function lineDash(style: LineStyle, k = 1): number[] {
  return (palette.dashes[style.dash % palette.dashes.length] ?? []).map((length) => length * k);
}

/** A sample of the line, or its mark if it is drawn as dots; coloured by the style sheet. */
export function swatch(style: LineStyle, isDots = false): SVGSVGElement {
  const color = `var(--line-${style.color % colors("light").lines.length})`;
  return svg(
    "svg",
    {
      width: isDots ? 12 : 28,
      height: 10,
      viewBox: isDots ? "8 0 12 10" : "0 0 28 10",
      "aria-hidden": "true",
      class: "swatch",
    },
    isDots
      ? svg("polygon", {
          points: markCorners(style, 14, 5, 3.3).join(" "),
          style: `fill: ${color}`,
        })
      : svg("line", {
          x1: 1,
          x2: 27,
          y1: 5,
          y2: 5,
          "stroke-width": 2.5,
          "stroke-dasharray": lineDash(style).join(" ") || null,
          style: `stroke: ${color}`,
        }),
  );
}

/** The palette as custom properties of the style sheet, both shades. */
export function paletteStyle(): string {
  const of = (shade: Shade) => {
    const { lines, paper, ink, soft, grid, axis } = colors(shade);
    const causes = Object.entries(palette.causes).map(
      ([id, look]) => `--cause-${id}:${look[shade]}`,
    );
    return [
      `--paper:${paper};--ink:${ink};--soft:${soft};--grid:${grid};--axis:${axis}`,
      ...lines.map((color, i) => `--line-${i}:${color}`),
      ...causes,
    ].join(";");
  };
  return `:root{${of("light")};color-scheme:light}:root[data-shade=dark]{${of("dark")};color-scheme:dark}`;
}
