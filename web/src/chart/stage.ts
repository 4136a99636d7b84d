// All charts of the page: each is drawn when it comes into sight, all are before printing.

import { DataError } from "../data/unpack";
import { h } from "../dom";
import type { Shade } from "../style/colors";
import { shade } from "../style/theme";

/** Something that draws itself as wide as it is told. */
export interface Drawn {
  readonly element: HTMLElement;
  draw(shade: Shade, width: number | null, k: number): void;
}

/** Width of a printed page's charts, and how much finer than the screen they are drawn. */
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

/** Takes a chart on. */
export function stage(chart: Drawn): HTMLElement {
  charts.set(chart.element, chart);
  seen.observe(chart.element);
  resized.observe(chart.element);
  chart.element.addEventListener("redraw", () => draw(chart));
  return chart.element;
}

/** Lets go of all charts within an element that is to be thrown away. */
export function unstage(within: Element): void {
  for (const [element, chart] of charts) {
    if (!within.contains(element)) continue;
    seen.unobserve(element);
    resized.unobserve(element);
    charts.delete(element);
    drawn.delete(chart);
  }
}

/** Draws everything again that is drawn: the colours have changed. */
export function redraw(): void {
  for (const chart of drawn) draw(chart);
}

/** Before printing everything is unfolded and drawn, light; afterwards it is as before. */
export function onPrint(): void {
  let folded: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    isPrinting = true;
    folded = unfold();
    for (const chart of charts.values()) {
      drawn.add(chart);
      draw(chart);
    }
  });
  addEventListener("afterprint", () => {
    isPrinting = false;
    for (const details of folded) details.open = false;
    redraw();
  });
}

function unfold(): HTMLDetailsElement[] {
  const opened: HTMLDetailsElement[] = [];
  // What is unfolded may hold more that is folded.
  for (;;) {
    const closed = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    if (closed.length === 0) return opened;
    for (const details of closed) details.dispatchEvent(new Event("unfold"));
    opened.push(...closed);
    if (closed.some((details) => !details.open)) return opened;
  }
}
