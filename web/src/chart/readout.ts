// Exact values under the cursor, for all panels and visible lines.

import { number, shortened, value } from "../data/format";
import type { Series } from "../data/series";
import { h } from "../dom";
import { swatch } from "../style/lines";
import type { Lines } from "./lines";
import type { PanelSpec } from "./panel";

const MOST_ROWS = { wide: 16, narrow: 5 };

export class Readout {
  readonly element = h("div", { class: "readout", hidden: true, "aria-hidden": "true" });

  /** Shows the values at `x` next to (`left`, `top`) in a box `width` wide. */
  show(
    x: number,
    heading: string,
    panels: readonly PanelSpec[],
    lines: Lines,
    { left, top, width }: { left: number; top: number; width: number },
  ): void {
    const rows = lines.visible
      .map((line) => ({ line, cells: panels.map((panel) => cells(panel, line, x)) }))
      .filter(({ cells }) => cells.some((cell) => cell.text !== ""));
    rows.sort((a, b) => (b.cells[0]?.value ?? -1) - (a.cells[0]?.value ?? -1));
    const most = width < 600 ? MOST_ROWS.narrow : MOST_ROWS.wide;
    const looked = rows.findIndex(({ line }) => line === lines.focus);
    const first = Math.max(0, Math.min(looked - Math.floor(most / 2), rows.length - most));
    const shown = rows.slice(first, first + most);
    this.element.replaceChildren(
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, heading),
            panels.map((panel) => h("th", { class: "number" }, panel.unit)),
          ),
        ),
        h(
          "tbody",
          {},
          shown.map(({ line, cells }) => {
            const info = lines.all[line];
            return h(
              "tr",
              { class: lines.focus === line ? "looked" : null },
              h("td", {}, info && swatch(info.style), shortened(info?.label ?? "", 34)),
              cells.map((cell) => h("td", { class: "number" }, cell.text)),
            );
          }),
        ),
      ),
    );
    if (rows.length > shown.length) {
      this.element.append(h("p", {}, `and ${rows.length - shown.length} more`));
    }
    this.element.hidden = shown.length === 0;
    const own = this.element.offsetWidth;
    const right = left + 18;
    const at = right + own < width ? right : left - own - 18;
    this.element.style.transform = `translate(${Math.max(0, at)}px, ${top}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}

function cells(panel: PanelSpec, line: number, x: number): { text: string; value: number } {
  const at = (series: Series) => {
    const i = series.nearest(x);
    return i < 0 ? null : series.v(i);
  };
  const own = panel.traces.filter((trace) => trace.line === line);
  const found = own.filter(({ kind }) => kind !== "band").map(({ series }) => at(series));
  const bands = own.flatMap(({ series, upper }) => {
    const [low, high] = [at(series), upper ? at(upper) : null];
    return low === null || high === null ? [] : [` (${number(low)} to ${number(high)})`];
  });
  const known = found.filter((one) => one !== null);
  const values = found.map((one) => value(one, "")).join(" / ");
  return {
    text: known.length ? values + bands.join("") : "",
    value: known.reduce((sum, one) => sum + one, 0),
  };
}

/** The same as a sentence, for screen readers. */
export function spoken(
  x: number,
  heading: string,
  panels: readonly PanelSpec[],
  lines: Lines,
): string {
  const told = lines.told;
  const which = told === null ? lines.visible.slice(0, 4) : [told];
  const parts = which.map((line) => {
    const values = panels
      .map((panel) => ({ text: cells(panel, line, x).text, unit: panel.unit }))
      .filter(({ text }) => text !== "");
    return `${shortened(lines.all[line]?.label ?? "", 60)} ${values.map(({ text, unit }) => `${text} ${unit}`).join(", ")}`;
  });
  return `${heading}: ${parts.join("; ")}`;
}
