// Colours and dashes: the same recording looks the same in every chart of the page.

import palette from "../../../python/heatsoak/report/page/palette.json";
import type { Page } from "../contract";
import { svg } from "../dom";
import { markCorners } from "./marks";
import { colors, type Shade } from "./colors";

/** The index of a colour in the palette, and of a pattern. */
export interface LineStyle {
  color: number;
  dash: number;
}

/**
 * One style for each recording. Up to eight sets of conditions differ by colour; beyond that, the
 * main condition gives the colour, and the others together the pattern. If no condition has few
 * enough values for that, colours are reused with the next pattern. Repeated runs differ by pattern,
 * or by colour if all recordings are runs of the same.
 */
export function lineStyles(page: Page): LineStyle[] {
  const many = colors("light").lines.length;
  const sets = [...new Set(page.recordings.map((recording) => recording.color))];
  const patterns = palette.dashes.length;
  if (sets.length === 1) {
    return page.recordings.map((_, i) => ({
      color: i % many,
      dash: Math.floor(i / many) % patterns,
    }));
  }
  if (sets.length <= many) {
    const runs = new Map<number, number>();
    return page.recordings.map(({ color }) => {
      const run = runs.get(color) ?? 0;
      runs.set(color, run + 1);
      return { color: sets.indexOf(color), dash: run % patterns };
    });
  }
  const main = mainCondition(page);
  if (main === "") {
    return page.recordings.map(({ color }) => {
      const place = sets.indexOf(color);
      return { color: place % many, dash: Math.floor(place / many) % palette.dashes.length };
    });
  }
  const mains: string[] = [];
  const others: string[] = [];
  return page.recordings.map((recording) => {
    const { [main]: value, ...rest } = recording.findings.conditions;
    return {
      color: place(mains, String(value)) % many,
      dash: place(others, JSON.stringify(rest)) % palette.dashes.length,
    };
  });
}

function mainCondition(page: Page): string {
  if (page.matrix) return page.matrix.row_key;
  const values = new Map<string, Set<string>>();
  for (const { findings } of page.recordings) {
    for (const [key, value] of Object.entries(findings.conditions)) {
      values.set(key, (values.get(key) ?? new Set()).add(String(value)));
    }
  }
  const ranked = [...values].sort((a, b) => b[1].size - a[1].size);
  return ranked.find(([, found]) => found.size <= 8 && found.size > 1)?.[0] ?? "";
}

function place(known: string[], value: string): number {
  if (!known.includes(value)) known.push(value);
  return known.indexOf(value);
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
