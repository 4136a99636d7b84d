// Which lines of a workload are shown, and which one is selected: shared by all its charts.

import type { Episode } from "../contract";
import type { LineStyle } from "../contract";

/** A line in the legend; `words` say what it shows if there are no episodes. */
export interface LineInfo {
  label: string;
  style: LineStyle;
  episodes: Episode[];
  words: string;
}

export class Lines {
  readonly hidden = new Set<number>();
  focus: number | null = null;
  private readonly listeners = new Set<(isFocusOnly: boolean) => void>();

  constructor(public all: LineInfo[]) {}

  shown(line: number): boolean {
    return !this.hidden.has(line);
  }

  get visible(): number[] {
    return this.all.map((_, i) => i).filter((i) => this.shown(i));
  }

  toggle(line: number): void {
    if (!this.hidden.delete(line)) this.hidden.add(line);
    this.changed(false);
  }

  /** Shows one line alone, or all lines if it already is alone. */
  solo(line: number): void {
    const isAlone = this.shown(line) && this.visible.length === 1;
    this.showOnly(isAlone ? this.all.map((_, i) => i) : [line]);
  }

  showOnly(lines: readonly number[]): void {
    this.hidden.clear();
    this.all.forEach((_, i) => {
      if (!lines.includes(i)) this.hidden.add(i);
    });
    this.changed(false);
  }

  look(line: number | null): void {
    const found = line !== null && this.shown(line) ? line : null;
    if (found === this.focus) return;
    this.focus = found;
    this.changed(true);
  }

  /** The line whose episodes are shown in the chart itself: the selected one, or the only one. */
  get told(): number | null {
    if (this.focus !== null) return this.focus;
    const [only, ...others] = this.visible;
    return others.length === 0 ? (only ?? null) : null;
  }

  /** Calls back after each change; returns a function that ends that. */
  onChange(listener: (isFocusOnly: boolean) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells all charts to redraw these lines. */
  refresh(): void {
    this.changed(false);
  }

  private changed(isFocusOnly: boolean): void {
    if (this.focus !== null && !this.shown(this.focus)) this.focus = null;
    for (const listener of this.listeners) listener(isFocusOnly);
  }
}
