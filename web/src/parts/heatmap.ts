// The matrix as a table whose cells are coloured by how bad they are.

import type { App } from "../app";
import { saveButtons } from "../chart/save";
import { type Drawn, stage } from "../chart/stage";
import type { MatrixSection } from "../contract";
import { capital, shortened, words } from "../data/format";
import { button, h } from "../dom";
import { colors, type Shade, ramp } from "../style/colors";
import { shade } from "../style/theme";
import { Grid, publishedText, remarks, spans } from "./matrix_grid";

import { Sheet } from "../chart/canvas";

/** The matrix by its first two metrics, which the reader can change. */
export function matrix(
  app: App,
  given: MatrixSection,
  go: (recording: number, workload: string | null) => void,
): HTMLElement {
  const count = Math.min(2, given.metrics.length);
  const maps = Array.from({ length: count }, (_, i) => new HeatMap(app, new Grid(given, i), go));
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
  private readonly note = h("p", { class: "held" });
  private readonly holder = h("div", { class: "scroll", tabindex: 0, role: "region" });

  constructor(
    private readonly app: App,
    private readonly grid: Grid,
    private readonly go: (recording: number, workload: string | null) => void,
  ) {
    const select = h("select", { "aria-label": "What the colours show" });
    grid.given.metrics.forEach((one, i) => {
      select.append(
        h("option", { value: i, selected: i === grid.chosen }, `${one.label}, ${one.unit}`),
      );
    });
    select.addEventListener("change", () => {
      grid.chosen = Number(select.value);
      this.draw(shade());
    });
    const save = saveButtons(
      () => `matrix ${grid.metric.label}`,
      () => matrixPicture(grid, app.page.title, app.origin),
      () => grid.csv(),
    );
    this.element = h(
      "figure",
      { class: "heat" },
      h("div", { class: "tools" }, select, h("span", { class: "grow" }), save),
      this.holder,
      this.note,
    );
    this.draw(shade());
  }

  draw(of: Shade): void {
    const { given, rows, columns, title } = this.grid;
    const levels = given.column_keys.length ? given.column_keys : [""];
    const heads = levels.map((key, level) =>
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
            { scope: "colgroup", colspan: span, title: shortened(text, 300) },
            shortened(`${words(key)} ${text}`, 48),
          ),
        ),
      ),
    );
    const body = rows.map((row) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", title: shortened(row, 300) }, shortened(row, 40)),
        columns.map((column) => this.cell(row, column, of)),
      ),
    );
    this.holder.setAttribute("aria-label", title);
    this.note.textContent = this.grid.metric.rated_by ?? "";
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

  private cell(row: string, column: readonly string[], of: Shade): HTMLElement {
    const { grid } = this;
    const found = grid.find(row, column);
    const figure = found?.values[grid.metric.id];
    if (!found || !figure)
      return h("td", { class: "none" }, h("span", { class: "unseen" }, "not measured"));
    const share = grid.share(figure);
    const { back, ink } = share === null ? { back: "", ink: "" } : ramp(colors(of).heat, share);
    const published = publishedText(figure);
    const label = this.app.page.recordings[found.recording]?.label ?? "";
    return h(
      "td",
      { style: back ? `background:${back};color:${ink}` : null },
      button(
        [h("b", {}, shortened(figure.text, 40)), published ? h("small", {}, published) : null],
        () => this.go(found.recording, grid.metric.workload ?? null),
        { title: `${shortened(label, 200)}: ${found.verdict}; show its lines` },
      ),
    );
  }
}

/** Draws the heat map as a picture of its own, larger than on the page. */
function matrixPicture(grid: Grid, title: string, origin: string): HTMLCanvasElement {
  const { given, metric, columns } = grid;
  const shades = colors(shade());
  const sheet = new Sheet(1200, 2, shades.paper);
  sheet.paragraph(grid.title, shades.ink, 22, 650);
  sheet.paragraph(title, shades.soft, 14);
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
  for (const row of grid.rows) {
    const top = sheet.y;
    sheet.text(row, sheet.margin, top + 34, shades.ink, { size: 15, weight: 600, most: 150 });
    columns.forEach((column, i) => {
      const figure = grid.find(row, column)?.values[metric.id];
      if (!figure) return;
      const share = grid.share(figure);
      const { back, ink } =
        share === null ? { back: shades.grid, ink: shades.ink } : ramp(colors(shade()).heat, share);
      const x = left + i * width;
      sheet.act((ctx) => {
        ctx.fillStyle = back;
        ctx.fillRect(x + 1, top + 1, width - 2, 54);
      });
      const middle = { align: "center" as const, most: width - 12 };
      const published = publishedText(figure);
      const y = published ? top + 26 : top + 34;
      sheet.text(figure.text, x + width / 2, y, ink, { size: 17, weight: 650, ...middle });
      if (published) sheet.text(published, x + width / 2, top + 45, ink, { size: 12, ...middle });
    });
    sheet.y += 56;
  }
  sheet.y += 24;
  if (metric.rated_by) sheet.paragraph(metric.rated_by, shades.soft, 13);
  sheet.paragraph(remarks(given), shades.soft, 13);
  sheet.paragraph(origin, shades.soft, 11);
  return sheet.finish();
}
