// The matrix as a table whose cells are coloured by how bad they are.

import type { App } from "../app";
import { Sheet } from "../chart/canvas";
import { saveButtons } from "../chart/save";
import { type Drawn, stage } from "../chart/stage";
import type { Figure, Matrix, MatrixCell, MatrixMetric } from "../contract";
import { csv } from "../data/csv";
import { capital, cut, unitSign, value, words } from "../data/format";
import { button, h } from "../dom";
import { ramp } from "../style/ramp";
import { colors, type Shade } from "../style/colors";
import { shade } from "../style/theme";

interface Column {
  values: string[];
}

/** The matrix by its first two metrics, each of which can be changed. */
export function matrix(
  app: App,
  given: Matrix,
  go: (recording: number, workload: string | null) => void,
): HTMLElement {
  const count = Math.min(2, given.metrics.length);
  const maps = Array.from({ length: count }, (_, i) => new HeatMap(app, given, i, go));
  return h(
    "section",
    { id: "matrix", "aria-label": "All places" },
    h(
      "div",
      { class: count > 1 ? "pair" : "" },
      maps.map((map) => stage(map)),
    ),
    given.held || given.source ? h("p", { class: "held" }, remarks(given)) : null,
  );
}

class HeatMap implements Drawn {
  readonly element: HTMLElement;
  private readonly holder = h("div", { class: "scroll", tabindex: 0, role: "region" });
  private readonly columns: Column[];
  private readonly rows: string[];

  constructor(
    private readonly app: App,
    private readonly given: Matrix,
    private metric: number,
    private readonly go: (recording: number, workload: string | null) => void,
  ) {
    this.rows = given.order[given.row_key] ?? [];
    this.columns = product(given.column_keys.map((key) => given.order[key] ?? [])).map(
      (values) => ({
        values,
      }),
    );
    const select = h("select", { "aria-label": "What the colours show" });
    given.metrics.forEach((one, i) => {
      select.append(
        h("option", { value: i, selected: i === metric }, `${one.label}, ${unitSign(one.unit)}`),
      );
    });
    select.addEventListener("change", () => {
      this.metric = Number(select.value);
      this.draw(shade());
    });
    const save = saveButtons(
      `matrix ${this.shown.label}`,
      () => this.picture(),
      () => this.table(),
    );
    this.element = h(
      "figure",
      { class: "heat" },
      h("div", { class: "tools" }, select, h("span", { class: "grow" }), save),
      this.holder,
    );
    this.draw(shade());
  }

  draw(of: Shade): void {
    const { given, shown, columns } = this;
    const heads = given.column_keys.map((key, level) =>
      h(
        "tr",
        {},
        h(
          "th",
          { scope: "col", class: "corner" },
          level === 0 ? capital(words(given.row_key)) : "",
        ),
        spans(columns, level).map(({ text, span }) =>
          h(
            "th",
            { scope: "colgroup", colspan: span, title: cut(text, 300) },
            cut(`${words(key)} ${text}`, 48),
          ),
        ),
      ),
    );
    const body = this.rows.map((row) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", title: cut(row, 300) }, cut(row, 40)),
        columns.map((column) => this.cell(row, column, of)),
      ),
    );
    const title = `${shown.label}, ${unitSign(shown.unit)}`;
    this.holder.setAttribute("aria-label", title);
    this.holder.replaceChildren(
      h(
        "table",
        {},
        h("caption", { class: "unseen" }, title),
        h("thead", {}, heads),
        h("tbody", {}, body),
      ),
    );
  }

  private get shown(): MatrixMetric {
    return this.given.metrics[this.metric] as MatrixMetric;
  }

  private find(row: string, column: Column): MatrixCell | undefined {
    const { row_key, column_keys, cells } = this.given;
    return cells.find(
      ({ conditions }) =>
        conditions[row_key] === row &&
        column_keys.every((key, i) => conditions[key] === column.values[i]),
    );
  }

  /** From 0, which is no worry, to 1. */
  private share(figure: Figure): number | null {
    if (figure.value === null) return null;
    const all = this.given.cells
      .map(({ values }) => values[this.shown.id]?.value)
      .filter((v) => v !== null && v !== undefined);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const share = high > low ? (figure.value - low) / (high - low) : 0.5;
    return this.shown.worse === "high" ? share : 1 - share;
  }

  private cell(row: string, column: Column, of: Shade): HTMLElement {
    const found = this.find(row, column);
    const figure = found?.values[this.shown.id];
    if (!found || !figure)
      return h("td", { class: "none" }, h("span", { class: "unseen" }, "not measured"));
    const share = this.share(figure);
    const { back, ink } = share === null ? { back: "", ink: "" } : ramp(colors(of).heat, share);
    const published = publishedText(figure, this.shown.unit);
    const label = this.app.page.recordings[found.recording]?.label ?? "";
    return h(
      "td",
      { style: back ? `background:${back};color:${ink}` : null },
      button(
        [h("b", {}, cut(figure.text, 40)), published ? h("small", {}, published) : null],
        () => this.go(found.recording, this.shown.workload ?? null),
        { title: `${cut(label, 200)}: ${found.verdict}; show its lines` },
      ),
    );
  }

  private table(): string[] {
    const { given, shown } = this;
    const keys = [given.row_key, ...given.column_keys];
    const rows = given.cells.map(({ conditions, verdict, values }) => {
      const figure = values[shown.id];
      return [
        ...keys.map((key) => conditions[key] ?? ""),
        verdict,
        figure?.value,
        figure?.text ?? "",
        figure?.published?.[0],
        figure?.published?.[1],
        figure?.holds === null || figure?.holds === undefined ? "" : figure.holds ? "yes" : "no",
      ];
    });
    const id = `${shown.label} (${unitSign(shown.unit)})`;
    const names = [id, "text", "published_least", "published_most", "holds"];
    return csv([...keys, "verdict", ...names], rows);
  }

  private picture(): HTMLCanvasElement {
    const { given, shown, columns } = this;
    const shades = colors(shade());
    const sheet = new Sheet(1200, 2, shades.paper);
    sheet.paragraph(`${shown.label}, ${unitSign(shown.unit)}`, shades.ink, 22, 650);
    sheet.paragraph(this.app.page.title, shades.soft, 14);
    sheet.y += 12;
    const left = sheet.margin + 160;
    const width = (1200 - sheet.margin - left) / Math.max(1, columns.length);
    given.column_keys.forEach((key, level) => {
      sheet.y += 20;
      let x = left;
      for (const { text, span } of spans(columns, level)) {
        const at = x + (span * width) / 2;
        sheet.text(`${words(key)} ${text}`, at, sheet.y - 5, shades.soft, {
          align: "center",
          most: span * width - 8,
        });
        x += span * width;
      }
    });
    for (const row of this.rows) {
      const top = sheet.y;
      sheet.text(row, sheet.margin, top + 34, shades.ink, { size: 15, weight: 600, most: 150 });
      columns.forEach((column, i) => {
        const figure = this.find(row, column)?.values[shown.id];
        if (!figure) return;
        const share = this.share(figure);
        const { back, ink } =
          share === null
            ? { back: shades.grid, ink: shades.ink }
            : ramp(colors(shade()).heat, share);
        const x = left + i * width;
        sheet.act((ctx) => {
          ctx.fillStyle = back;
          ctx.fillRect(x + 1, top + 1, width - 2, 54);
        });
        const middle = { align: "center" as const, most: width - 12 };
        const published = publishedText(figure, shown.unit);
        const y = published ? top + 26 : top + 34;
        sheet.text(figure.text, x + width / 2, y, ink, { size: 17, weight: 650, ...middle });
        if (published) sheet.text(published, x + width / 2, top + 45, ink, { size: 12, ...middle });
      });
      sheet.y += 56;
    }
    sheet.y += 24;
    sheet.paragraph(remarks(given), shades.soft, 13);
    sheet.paragraph(this.app.origin, shades.soft, 11);
    return sheet.finish();
  }
}

/** How many published figures hold, what the small figures are, and where they are from. */
function remarks({ held, source, cells }: Matrix): string {
  const all = cells.flatMap(({ values }) => Object.values(values));
  const isPublished = all.some((figure) => figure.published || figure.published_text);
  return [
    isPublished ? "In small type what was published, ✓ where it holds." : "",
    held ?? "",
    source ? `Published: ${source}.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** What was published for a figure, and whether it holds. */
function publishedText(figure: Figure, unit: string): string {
  const { published, published_text, holds } = figure;
  const [least, most] = published ?? [null, null];
  const range = least === most ? value(least, unit) : `${least}–${value(most, unit)}`;
  const text = published_text ?? (published ? range : "");
  if (!text) return "";
  return `${text}${holds === true ? " ✓" : holds === false ? " ✗" : ""}`;
}

function product(lists: string[][]): string[][] {
  return lists.reduce<string[][]>(
    (made, list) => made.flatMap((one) => list.map((text) => [...one, text])),
    [[]],
  );
}

/** Neighbouring columns that share their values down to a level. */
function spans(columns: Column[], level: number): { text: string; span: number }[] {
  const found: { text: string; span: number; id: string }[] = [];
  for (const { values } of columns) {
    const id = JSON.stringify(values.slice(0, level + 1));
    const last = found.at(-1);
    if (last?.id === id) last.span++;
    else found.push({ text: values[level] ?? "", span: 1, id });
  }
  return found;
}
