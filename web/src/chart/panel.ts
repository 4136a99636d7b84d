// One pair of axes, drawn by uPlot.

import uPlot from "uplot";
import { h } from "../dom";
import type { LineStyle } from "../contract";
import { lineColor, lineDash } from "../style/lines";
import { colors, type Shade } from "../style/colors";
import { type Horizontal, horizontal, roomy, roomyLog, vertical } from "./axes";
import { gestures } from "./gestures";
import { path, type Trace } from "./trace";
import type { View } from "./view";

/** Size and colours of a drawing; `k` scales all of it. */
export interface Look {
  shade: Shade;
  width: number;
  k: number;
}

/** As uPlot numbers its kinds of scales. */
const LOGARITHMIC = { distr: 3, log: 10 } as unknown as uPlot.Scale;

/** Room to the right of the axes, for half a mark. */
export const RIGHT = 22;

/** A value that a reader holds the lines against. */
export interface Level {
  at: number;
  label: string;
}

export interface PanelSpec {
  title: string;
  /** As displayed: `MB/s`. */
  unit: string;
  height: number;
  traces: Trace[];
  x: Horizontal;
  /** The label of the horizontal axis; empty if another panel has it. */
  xTitle: string;
  isFromZero: boolean;
  /** Whether the vertical axis is logarithmic, if the reader can choose that. */
  isLog?: boolean;
  isShown: boolean;
  /** If the traces are of several measurements, which of them to show. */
  choice?: Choice;
  /** What distinguishes several traces of one line. */
  key?: { label: string; style: LineStyle }[];
  /** Drawn as lines across; the vertical axis has them within. */
  levels?: Level[];
  /** Fixed ticks of the horizontal axis, if any. */
  marks?: number[];
}

export interface Choice {
  names: string[];
  chosen: number;
  traces: (chosen: number) => Trace[];
}

/** The pointer: its position on the horizontal axis, and the nearest line. */
export interface Pointer {
  x: number;
  line: number | null;
  left: number;
  top: number;
}

export interface PanelHooks {
  shown: (line: number) => boolean;
  focused: () => number | null;
  pointed?: (pointer: Pointer | null) => void;
  clicked?: (x: number) => void;
  under?: (u: uPlot, look: Look) => void;
  over?: (u: uPlot, look: Look) => void;
}

function fillOf({ kind }: Trace, color: string, isCrowded: boolean): string {
  if (kind === "band") return `${color}2e`;
  if (kind === "steps") return isCrowded ? "" : `${color}26`;
  return color;
}

export class Panel {
  readonly element = h("div", { class: "canvas" });
  private plot: uPlot | null = null;
  private unsubscribe: (() => void) | null = null;

  constructor(
    readonly spec: PanelSpec,
    private readonly view: View,
    private readonly hooks: PanelHooks,
    private readonly group: string,
  ) {}

  /** Redraws it; `isStill` leaves out everything interactive. */
  render(look: Look, gutter: number, isStill = false): void {
    this.destroy();
    const { spec, view } = this;
    const { k } = look;
    // Damaged data must be reported here, not later when uPlot draws.
    this.yRange();
    const shades = colors(look.shade);
    const isCrowded = spec.traces.length > 4;
    const options: uPlot.Options = {
      width: Math.round(look.width * k),
      height: Math.round(spec.height * k),
      padding: [8 * k, RIGHT * k, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [view.min, view.max] },
        y: { range: () => this.yRange(), ...(spec.isLog ? LOGARITHMIC : {}) },
      },
      axes: [
        horizontal(spec.x, shades, k, spec.xTitle !== "", spec.marks),
        vertical(shades, k, gutter, spec.isLog, Math.min(34, spec.height / 3.5)),
      ],
      series: [
        {},
        ...spec.traces.map((trace) => {
          const color = lineColor(trace.style, look.shade);
          const width = trace.kind === "dots" || trace.kind === "band" ? 0 : 1.6 * k;
          return {
            show: this.hooks.shown(trace.line),
            stroke: color,
            fill: fillOf(trace, color, isCrowded),
            width,
            dash: lineDash(trace.style, k),
            points: { show: false },
            paths: (u: uPlot) => path(u, trace, k, spec.isLog),
          };
        }),
      ],
      hooks: {
        drawAxes: [(u) => this.hooks.under?.(u, look)],
        draw: [(u) => this.hooks.over?.(u, look)],
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.cursor(u)],
      },
      cursor: {
        show: !isStill,
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 4 },
        points: { show: false },
        bind: {
          dblclick: () => () => {
            view.reset();
            return null;
          },
        },
        ...(this.group ? { sync: { key: this.group, scales: ["x", null] as [string, null] } } : {}),
      },
    };
    const ends = [view.least, view.most];
    const zeros = spec.traces.map(() => [0, 0]);
    this.plot = new uPlot(options, [ends, ...zeros] as uPlot.AlignedData, this.element);
    this.unsubscribe = view.onChange(() => this.moved());
    this.focusChanged();
    if (!isStill) this.listen(this.plot);
  }

  destroy(): void {
    this.unsubscribe?.();
    this.unsubscribe = null;
    this.plot?.destroy();
    this.plot = null;
  }

  get canvas(): HTMLCanvasElement | null {
    return this.plot?.ctx.canvas ?? null;
  }

  /** Left and width of the area within the axes, in pixels of the page. */
  get area(): { left: number; width: number } | null {
    const over = this.plot?.over;
    return over ? { left: over.offsetLeft, width: over.clientWidth } : null;
  }

  /** Puts the cursor at a position of the horizontal axis. */
  point(x: number): void {
    const u = this.plot;
    if (!u) return;
    const top = u.over.clientHeight / 2;
    u.setCursor({ left: u.valToPos(x, "x"), top }, true);
  }

  /** Redraws after the data or the visible lines have changed. */
  refresh(): void {
    const u = this.plot;
    if (!u) return;
    const ends = [this.view.least, this.view.most];
    this.spec.traces.forEach((trace, i) => {
      const series = u.series[i + 1];
      if (series) series.show = this.hooks.shown(trace.line);
    });
    this.fade(u);
    u.setData([ends, ...this.spec.traces.map(() => [0, 0])] as uPlot.AlignedData, false);
    this.moved();
    const [min, max] = this.yRange(); // uPlot takes a scale that is set as it is
    u.setScale("y", { min, max });
  }

  /** Lines that are not selected fade. */
  focusChanged(): void {
    const u = this.plot;
    if (!u) return;
    this.fade(u);
    u.redraw(false);
  }

  private fade(u: uPlot): void {
    const focused = this.hooks.focused();
    this.spec.traces.forEach((trace, i) => {
      const series = u.series[i + 1];
      if (series) series.alpha = focused === null || trace.line === focused ? 1 : 0.18;
    });
  }

  private moved(): void {
    this.plot?.setScale("x", { min: this.view.min, max: this.view.max });
  }

  private yRange(): [number, number] {
    let extent: [number, number] | null = null;
    for (const { series, upper, line } of this.spec.traces) {
      for (const edge of upper ? [series, upper] : [series]) {
        if (edge.length === 0 || !this.hooks.shown(line)) continue;
        const own = edge.extent(edge.from(this.view.least), edge.from(this.view.most) + 1);
        if (own) extent = extent ? [Math.min(extent[0], own[0]), Math.max(extent[1], own[1])] : own;
      }
    }
    for (const { at } of this.spec.levels ?? []) {
      extent = extent && [Math.min(extent[0], at), Math.max(extent[1], at)];
    }
    if (this.spec.isLog && extent) return roomyLog(extent);
    return roomy(extent, this.spec.isFromZero);
  }

  private selected(u: uPlot): void {
    const { left, width } = u.select;
    if (width <= 0) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width > 4) this.view.show(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  }

  private cursor(u: uPlot): void {
    const { left = -1, top = -1 } = u.cursor;
    if (left < 0) this.hooks.pointed?.(null);
    else if (u.over.matches(":hover") || !u.cursor.event) {
      const x = u.posToVal(left, "x");
      this.hooks.pointed?.({ x, line: this.nearest(u, x, top), left, top });
    }
  }

  /** The nearest line within 24 pixels of the pointer. */
  private nearest(u: uPlot, x: number, top: number): number | null {
    let [found, least] = [null as number | null, 24];
    for (const { series, line, kind } of this.spec.traces) {
      const i = this.hooks.shown(line) && kind !== "band" ? series.nearest(x) : -1;
      const away = i < 0 ? Number.POSITIVE_INFINITY : Math.abs(u.valToPos(series.v(i), "y") - top);
      if (away < least) [found, least] = [line, away];
    }
    return found;
  }

  private listen(u: uPlot): void {
    gestures(u.over, this.view);
    let [downAt, isMouse] = [-1, true];
    let waiting = 0;
    u.over.addEventListener("pointerdown", (event) => {
      downAt = event.clientX;
      isMouse = event.pointerType === "mouse";
    });
    u.over.addEventListener("click", (event) => {
      // Touch reads values here; for evidence there are the bands of the legend.
      if (!isMouse || Math.abs(event.clientX - downAt) > 4) return;
      const x = u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x");
      clearTimeout(waiting);
      // A second click makes it a double click, which shows everything.
      if (event.detail === 1) waiting = window.setTimeout(() => this.hooks.clicked?.(x), 260);
    });
  }
}
