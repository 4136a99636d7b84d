// A chart: stacked panels on one horizontal axis, with legend, readout and tools.

import { add, button, h } from "../dom";
import type { StepBand } from "../contract";
import { swatch } from "../style/lines";
import type { Shade } from "../style/colors";
import { drawBands, drawHeat, drawLevels, drawLoads, drawOnsets } from "./bands";
import { keys } from "./gestures";
import { lanes } from "./lanes";
import type { Lines } from "./lines";
import { Panel, type PanelHooks, type PanelSpec, type Pointer } from "./panel";
import { Readout, spoken } from "./readout";
import type { View } from "./view";

export interface FigureSpec {
  title: string;
  detail: string;
  panels: PanelSpec[];
  lines: Lines;
  view: View;
  /** A position of the horizontal axis in words. */
  say: (x: number) => string;
  /** What the chart shows, for readers who cannot see it. */
  summary: string;
  /** Whether episodes are shown, as lanes and in the first panel. */
  hasEpisodes: boolean;
  /** The loads of a whole recording, as bands behind the lines. */
  loads?: readonly StepBand[];
  open: (line: number, episode: number) => void;
  /** When heat began to slow the drive, where that is not told by episodes. */
  onsets?: readonly number[];
  /** Buttons that save it. */
  tools: (figure: Figure) => HTMLElement[];
}

/** From this width on, names are beside the charts instead of above. */
const WIDE = 720;
const GUTTER = { wide: 208, narrow: 54, printed: 184 };
/** About how wide a letter of a name is, what stands beside it, and how much of the width it gets. */
const [LETTER, BESIDE, MOST] = [6.6, 62, 0.3];
let count = 0;

const HELP =
  "Arrow keys read values, and move with Shift; plus and minus zoom, 0 shows everything. " +
  "Drag to zoom in, double-click to show everything.";

export class Figure {
  readonly element: HTMLElement;
  readonly panels: Panel[];
  private readonly readout = new Readout();
  private readonly plots = h("div", { class: "plots" });
  private readonly status = h("p", { class: "unseen", "aria-live": "polite" });
  private readonly legend: { element: HTMLElement; update: () => void };
  private at: number | null = null;
  private gutter = GUTTER.wide;

  constructor(readonly spec: FigureSpec) {
    const group = `heatsoak-${count++}`;
    const { lines, view } = spec;
    this.panels = spec.panels.map(
      (panel, i) => new Panel(panel, view, this.hooks(i), spec.panels.length > 1 ? group : ""),
    );
    this.legend = lanes(lines, spec.hasEpisodes ? view : null, this.isDots, spec.open);
    const reset = button("Reset zoom", () => view.reset(), { title: "Show everything (0)" });
    const everyLine = button("All lines", () => lines.showOnly(lines.all.map((_, i) => i)));
    const help = h("p", { class: "unseen", id: `${group}-help` }, HELP);
    this.element = h(
      "figure",
      {
        class: "chart",
        tabindex: 0,
        role: "group",
        "data-chart": "",
        "aria-label": `Chart. ${spec.title}, ${spec.detail}. ${spec.summary}`,
        "aria-describedby": help.id,
      },
      h(
        "div",
        { class: "tools" },
        this.extras(),
        h("span", { class: "grow" }),
        everyLine,
        button("−", () => view.zoom(1 / 1.5), { "aria-label": "Zoom out" }),
        button("+", () => view.zoom(1.5), { "aria-label": "Zoom in" }),
        reset,
        spec.tools(this),
      ),
      this.plots,
      help,
      this.status,
    );
    this.lay();
    const update = () => {
      reset.disabled = view.isWhole;
      everyLine.hidden = lines.hidden.size === 0;
      this.legend.update();
      this.readout.hide();
    };
    update();
    view.onChange(update);
    lines.onChange((isFocusOnly) => {
      this.legend.update();
      everyLine.hidden = lines.hidden.size === 0;
      for (const panel of this.panels) {
        if (isFocusOnly) panel.focusChanged();
        else panel.refresh();
      }
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.plots.addEventListener("pointerleave", () => {
      this.readout.hide();
      lines.look(null);
    });
  }

  /** Whether its lines are clouds of dots. */
  get isDots(): boolean {
    return this.spec.panels[0]?.traces[0]?.kind === "dots";
  }

  draw(shade: Shade, width: number | null, k: number): void {
    const finer = CSS.supports("zoom", "1") ? k : 1;
    const own = width ?? this.plots.clientWidth;
    if (own === 0) return;
    const longest = Math.max(...this.spec.lines.all.map(({ label }) => label.length));
    const wanted = Math.min(BESIDE + LETTER * longest, MOST * own);
    const isWide = own >= WIDE || width !== null;
    this.gutter = isWide ? Math.max(GUTTER.wide, wanted) : GUTTER.narrow;
    if (width !== null) this.gutter = GUTTER.printed;
    this.element.classList.toggle("many", this.spec.lines.all.length > 6);
    this.element.classList.toggle("narrow", this.gutter === GUTTER.narrow);
    this.element.style.setProperty("--gutter", `${this.gutter}px`);
    for (const panel of this.panels) {
      if (!panel.spec.isShown) continue;
      panel.element.style.zoom = String(1 / finer);
      panel.render({ shade, width: own, k: finer }, this.gutter);
    }
  }

  /** A panel like one of these, for a picture. */
  copy(spec: PanelSpec): Panel {
    return new Panel(spec, this.spec.view, this.hooks(this.spec.panels.indexOf(spec)), "");
  }

  private redraw(): void {
    this.lay();
    this.element.dispatchEvent(new Event("redraw"));
  }

  private lay(): void {
    const shown = this.panels.filter((panel) => panel.spec.isShown);
    const parts = shown.map((panel) => {
      const { title, unit, choice, key, xTitle } = panel.spec;
      const heading = h(
        "div",
        { class: "panel-title" },
        h("strong", {}, title),
        " ",
        h("span", {}, unit),
      );
      if (panel.spec.isLog !== undefined) heading.append(this.scaleButton(panel));
      if (choice) heading.append(this.chooser(panel));
      for (const { label, style } of key ?? []) {
        heading.append(h("span", { class: "key" }, swatch(style), label));
      }
      return h(
        "div",
        { class: "panel", style: `--height: ${panel.spec.height}px` },
        heading,
        panel.element,
        xTitle ? h("div", { class: "x-title" }, xTitle) : null,
      );
    });
    parts.splice(1, 0, this.legend.element as HTMLDivElement);
    this.plots.replaceChildren();
    add(this.plots, [parts, this.readout.element]);
  }

  private scaleButton({ spec }: Panel): HTMLElement {
    const made = button(
      "Logarithmic",
      () => {
        spec.isLog = !spec.isLog;
        this.redraw();
      },
      { class: "extra scale", title: "Switch between a logarithmic and a linear axis" },
    );
    made.setAttribute("aria-pressed", String(spec.isLog));
    return made;
  }

  private chooser(panel: Panel): HTMLElement {
    const { choice, title } = panel.spec;
    const select = h("select", { "aria-label": `${title}: which measurement` });
    choice?.names.forEach((name, i) => {
      select.append(h("option", { value: i, selected: i === choice.chosen }, name));
    });
    select.addEventListener("change", () => {
      if (!choice) return;
      choice.chosen = Number(select.value);
      panel.spec.traces = choice.traces(choice.chosen);
      this.redraw();
    });
    return select;
  }

  /** Buttons for panels that are not shown at first. */
  private extras(): HTMLElement[] {
    return this.panels
      .filter((panel) => !panel.spec.isShown)
      .map(({ spec }) => {
        const made = button(spec.title, () => {
          spec.isShown = !spec.isShown;
          made.setAttribute("aria-pressed", String(spec.isShown));
          this.redraw();
        });
        made.setAttribute("aria-pressed", "false");
        made.className = "extra";
        return made;
      });
  }

  private hooks(i: number): PanelHooks {
    const { spec } = this;
    const { lines } = spec;
    const hooks: PanelHooks = {
      shown: (line) => lines.shown(line),
      focused: () => lines.focus,
      pointed: (pointer) => this.pointed(i, pointer),
    };
    const { hasEpisodes, loads = [], onsets = [], panels } = spec;
    const isFirst = i === 0;
    hooks.under = (u, look) => {
      drawLoads(u, look, loads, isFirst);
      if (hasEpisodes) drawBands(u, look, lines);
    };
    hooks.over = (u, look) => {
      drawLevels(u, look, panels[i]?.levels ?? []);
      drawHeat(u, look, onsets);
      if (hasEpisodes && isFirst) drawOnsets(u, look, lines, panels[0]?.traces ?? []);
    };
    if (!hasEpisodes || !isFirst) return hooks;
    hooks.clicked = (x) => {
      const { told } = lines;
      const episodes = told === null ? [] : (lines.all[told]?.episodes ?? []);
      const found = episodes.findIndex(({ onset_s, end_s }) => onset_s <= x && x <= end_s);
      if (told !== null && found >= 0) spec.open(told, found);
    };
    return hooks;
  }

  private pointed(i: number, pointer: Pointer | null): void {
    const panel = this.panels[i];
    if (!pointer || !panel) {
      this.readout.hide();
      return;
    }
    this.at = pointer.x;
    const { lines } = this.spec;
    if (pointer.line !== null) lines.look(pointer.line);
    const shown = this.spec.panels.filter((one) => one.isShown);
    const isNarrow = this.gutter === GUTTER.narrow;
    this.readout.show(pointer.x, this.spec.say(pointer.x), isNarrow ? [panel.spec] : shown, lines, {
      left: pointer.left + (panel.area?.left ?? 0),
      top: panel.element.offsetTop + 12,
      width: this.plots.clientWidth,
    });
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.element) return;
    const { view } = this.spec;
    keys(event, view, (by) => {
      if (by === "a") this.at = view.min;
      else if (by === "z") this.at = view.max;
      else this.at = (this.at ?? view.min) + by * view.span;
      this.at = Math.min(view.max, Math.max(view.min, this.at));
      this.panels.find((panel) => panel.spec.isShown)?.point(this.at);
      const shown = this.spec.panels.filter((one) => one.isShown);
      this.status.textContent = spoken(this.at, this.spec.say(this.at), shown, this.spec.lines);
    });
  }
}
