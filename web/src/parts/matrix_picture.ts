// The heat map as a picture for an article.

import { Sheet } from "../chart/canvas";
import { words } from "../data/format";
import { colors } from "../style/colors";
import { ramp } from "../style/ramp";
import { shade } from "../style/theme";
import { type Grid, publishedText, remarks, spans } from "./matrix_grid";

/** Draws what the heat map shows, larger and by itself. */
export function matrixPicture(grid: Grid, title: string, origin: string): HTMLCanvasElement {
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
      const published = publishedText(figure, metric.unit);
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
