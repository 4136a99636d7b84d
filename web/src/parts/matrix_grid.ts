// The matrix as rows and columns, independent of how it is drawn.

import type { MatrixFigure, MatrixSection, MatrixCell, MatrixMetric } from "../contract";
import { csv } from "../data/csv";

/** Figures that differ by less than this share get one pale colour. */
const ALIKE = 0.05;
const PALE = 0.1;

function rated(figure: MatrixFigure): number | null {
  return figure.value === null ? null : (figure.rated ?? figure.value);
}

export class Grid {
  readonly rows: string[];
  /** The values of the column keys, one by one. */
  readonly columns: string[][];

  constructor(
    readonly given: MatrixSection,
    public chosen: number,
  ) {
    this.rows = given.order[given.row_key] ?? [];
    this.columns = product(given.column_keys.map((key) => given.order[key] ?? []));
  }

  get metric(): MatrixMetric {
    return this.given.metrics[this.chosen] as MatrixMetric;
  }

  get title(): string {
    return `${this.metric.label}, ${this.metric.unit}`;
  }

  find(row: string, column: readonly string[]): MatrixCell | undefined {
    const { row_key, column_keys, cells } = this.given;
    return cells.find(
      ({ conditions }) =>
        conditions[row_key] === row && column_keys.every((key, i) => conditions[key] === column[i]),
    );
  }

  /** How bad a figure is compared with all others: from 0 (harmless) to 1. */
  share(figure: MatrixFigure): number | null {
    const own = rated(figure);
    if (own === null) return null;
    const all = this.given.cells
      .map(({ values }) => values[this.metric.id])
      .map((one) => (one ? rated(one) : null))
      .filter((v) => v !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    // What differs by next to nothing must not look like best and worst.
    if (high - low <= ALIKE * Math.max(Math.abs(low), Math.abs(high))) return PALE;
    const share = (own - low) / (high - low);
    return this.metric.worse === "high" ? share : 1 - share;
  }

  csv(): string[] {
    const { given, metric } = this;
    const keys = [given.row_key, ...given.column_keys];
    const rows = given.cells.map(({ conditions, verdict, values }) => {
      const figure = values[metric.id];
      const holds = figure?.holds;
      return [
        ...keys.map((key) => conditions[key] ?? ""),
        verdict,
        figure?.value,
        figure?.text ?? "",
        figure?.published?.[0],
        figure?.published?.[1],
        typeof holds === "boolean" ? (holds ? "yes" : "no") : "",
      ];
    });
    const name = `${metric.label} (${metric.unit})`;
    const names = [name, "text", "published_least", "published_most", "holds"];
    return csv([...keys, "verdict", ...names], rows);
  }
}

/** How many published figures hold, what the small figures are, and their source. */
export function remarks({ held, source, cells }: MatrixSection): string {
  const all = cells.flatMap(({ values }) => Object.values(values));
  const isPublished = all.some((figure) => figure.published_text);
  return [
    isPublished ? "Published figures in small type, ✓ if they hold." : "",
    held ?? "",
    source ? `Published: ${source}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** What was published for a figure, and whether it holds. */
export function publishedText({ published_text, holds }: MatrixFigure): string {
  return published_text ? `${published_text}${holds ? " ✓" : " ✗"}` : "";
}

function product(lists: string[][]): string[][] {
  return lists.reduce<string[][]>(
    (made, list) => made.flatMap((one) => list.map((text) => [...one, text])),
    [[]],
  );
}

/** Adjacent columns with the same values down to a level. */
export function spans(
  columns: readonly string[][],
  level: number,
): { text: string; span: number }[] {
  const found: { text: string; span: number; id: string }[] = [];
  for (const values of columns) {
    const id = JSON.stringify(values.slice(0, level + 1));
    const last = found.at(-1);
    if (last?.id === id) last.span++;
    else found.push({ text: values[level] ?? "", span: 1, id });
  }
  return found;
}
