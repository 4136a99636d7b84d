// All charts of the page: each is drawn when it comes into sight, and all before printing.

import { DataError } from "../data/unpack";
import { h } from "../dom";
import type { Shade } from "../style/colors";
import { apply, shade } from "../style/theme";

/** Something that draws itself at a given width. */
export interface Drawn {
  readonly element: HTMLElement;
  draw(shade: Shade, width: number | null, k: number): void;
}

/** Width of charts in print, and their resolution relative to the screen. */
const PRINT = { width: 680, k: 2 };

const charts = new Map<Element, Drawn>();
const drawn = new Set<Drawn>();
let isPrinting = false;

const seen = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const chart = charts.get(target);
      if (chart && isIntersecting && !drawn.has(chart)) {
        drawn.add(chart);
        draw(chart);
      }
    }
  },
  { rootMargin: "120px" },
);

const widths = new WeakMap<Element, number>();
const resized = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const before = widths.get(target);
    const now = Math.round(contentRect.width);
    widths.set(target, now);
    const chart = charts.get(target);
    if (chart && before !== undefined && before !== now && drawn.has(chart)) draw(chart);
  }
});

function draw(chart: Drawn): void {
  try {
    if (isPrinting) chart.draw("light", PRINT.width, PRINT.k);
    else chart.draw(shade(), null, 1);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    chart.element.replaceChildren(h("p", { class: "damage", role: "alert" }, error.message));
    unstage(chart.element);
  }
}

/** Registers a chart. */
export function stage(chart: Drawn): HTMLElement {
  charts.set(chart.element, chart);
  seen.observe(chart.element);
  resized.observe(chart.element);
  chart.element.addEventListener("redraw", () => draw(chart));
  return chart.element;
}

/** Releases all charts within an element that will be removed. */
export function unstage(within: Element): void {
  for (const [element, chart] of charts) {
    if (!within.contains(element)) continue;
    seen.unobserve(element);
    resized.unobserve(element);
    charts.delete(element);
    drawn.delete(chart);
  }
}

/** Redraws everything after the colours have changed. */
export function redraw(): void {
  for (const chart of drawn) draw(chart);
}

/** Draws what is open in the light shade before printing, and restores it afterwards. */
export function onPrint(): void {
  addEventListener("beforeprint", () => {
    isPrinting = true;
    apply("light");
    for (const chart of charts.values()) {
      drawn.add(chart);
      draw(chart);
    }
  });
  addEventListener("afterprint", () => {
    isPrinting = false;
    apply();
    redraw();
  });
}
