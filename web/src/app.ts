// State that all parts of the page share.

import { type LineInfo, Lines } from "./chart/lines";
import { View } from "./chart/view";
import type {
  ChartSeries,
  Episode,
  Line,
  LineStyle,
  Packed,
  Page,
  StepFindings,
  Unloaded,
} from "./contract";
import { moment } from "./data/format";
import { Series } from "./data/series";
import { column } from "./data/unpack";

/** A reader's choices in a chart, which are kept when the page is fetched again. */
interface Chosen {
  hidden: string[];
  stretch: [number, number] | null;
}

export class App {
  private readonly unpacked = new Map<ChartSeries, Series>();
  private readonly views = new Map<string, View>();
  private readonly lines = new Map<string, Lines>();

  constructor(
    readonly page: Page,
    private readonly bytes: Uint8Array,
    /** Shows the evidence of an episode. */
    readonly evidence: (heading: string, episode: Episode) => void,
    private readonly before: App | null = null,
  ) {}

  /** The findings of a line's step, if it was loaded. */
  step(line: Line): StepFindings | undefined {
    if (line.step === null) return undefined;
    return this.page.recordings[line.recording]?.findings.steps[line.step];
  }

  /** What is known of the time without a load. */
  unloaded(line: Line): Unloaded | null {
    return this.page.recordings[line.recording]?.findings.unloaded ?? null;
  }

  /** Unpacks a column of numbers. */
  column(packed: Packed): Float64Array {
    return column(this.bytes, packed);
  }

  /** A track's samples, unpacked when first needed. */
  series(track: ChartSeries): Series {
    const known = this.unpacked.get(track);
    if (known) return known;
    const made = new Series(this.column(track.t), this.column(track.v), track.gap_s);
    this.unpacked.set(track, made);
    return made;
  }

  /** The view of a chart, with the reader's zoom from before the page was fetched again. */
  view(id: string, least: number, most: number): View {
    const made = new View(least, most);
    const stretch = this.before?.chosen(id).stretch;
    if (stretch) made.show(...stretch);
    this.views.set(id, made);
    return made;
  }

  /** The lines of a workload, with those hidden that the reader had hidden before. */
  linesOf(id: string, all: LineInfo[]): Lines {
    const made = new Lines(all);
    const hidden = this.before?.chosen(id).hidden ?? [];
    all.forEach(({ label }, i) => {
      if (hidden.includes(label)) made.hidden.add(i);
    });
    this.lines.set(id, made);
    return made;
  }

  style(recording: number): LineStyle {
    return this.page.recordings[recording]?.style ?? { color: 0, dash: 0 };
  }

  /** The origin of a picture or table. */
  get origin(): string {
    const { title, made_by, made_unix_s } = this.page;
    return `${title} · ${made_by} · ${moment(made_unix_s)}`;
  }

  knownLines(id: string): Lines | undefined {
    return this.lines.get(id);
  }

  /** Redraws all charts after samples were added. */
  refresh(): void {
    for (const lines of this.lines.values()) lines.refresh();
  }

  viewOf(id: string): View | undefined {
    return this.views.get(id);
  }

  private chosen(id: string): Chosen {
    const view = this.views.get(id);
    const lines = this.lines.get(id);
    return {
      hidden: lines ? [...lines.hidden].map((i) => lines.all[i]?.label ?? "") : [],
      stretch: view && !view.isWhole ? [view.min, view.max] : null,
    };
  }
}
