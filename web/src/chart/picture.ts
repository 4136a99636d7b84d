// A chart as a picture for an article: title, panels with units, legend with episodes, origin.

import uPlot from "uplot";
import { causeLook, fillBand } from "../style/causes";
import type { LineStyle } from "../contract";
import { lineColor, lineDash } from "../style/lines";
import { addMark } from "../style/marks";
import { colors } from "../style/colors";
import { shade } from "../style/theme";
import { bandWords } from "./bands";
import { Sheet } from "./canvas";
import type { Figure } from "./figure";
import { type Panel, RIGHT } from "./panel";

const WIDTH = 1200;
const K = 2;
const GUTTER = 216;
const LANE = 20;

/** Draws what the figure shows now, larger and by itself. */
export async function picture(figure: Figure, origin: string): Promise<HTMLCanvasElement> {
  const { title, detail, summary } = figure.spec;
  const shades = colors(shade());
  const sheet = new Sheet(WIDTH, K, shades.paper);
  sheet.paragraph(title, shades.ink, 22, 650);
  sheet.paragraph(detail, shades.soft, 14);
  sheet.paragraph(summary, shades.soft, 14);
  sheet.y += 10;
  let isFirst = true;
  const made: Panel[] = [];
  for (const { spec } of figure.panels.filter((panel) => panel.spec.isShown)) {
    const panel = figure.copy(spec);
    made.push(panel);
    const k = K / uPlot.pxRatio;
    panel.render({ shade: shade(), width: WIDTH - 2 * sheet.margin, k }, GUTTER, true);
    const top = sheet.y;
    sheet.text(spec.title, sheet.margin, top + 22, shades.ink, { weight: 650, most: GUTTER - 60 });
    sheet.text(spec.unit, sheet.margin, top + 40, shades.soft, { most: GUTTER - 60 });
    spec.key?.forEach(({ label, style }, i) => {
      swatch(sheet, style, sheet.margin, top + 58 + i * 18);
      sheet.text(label, sheet.margin + 32, top + 62 + i * 18, shades.soft, { most: GUTTER - 90 });
    });
    if (spec.choice) {
      const name = spec.choice.names[spec.choice.chosen] ?? "";
      sheet.text(name, sheet.margin, top + 58, shades.soft, { most: GUTTER - 60 });
    }
    sheet.act((ctx) => {
      const { canvas } = panel;
      if (canvas) {
        ctx.drawImage(canvas, sheet.margin, top, canvas.width / K, canvas.height / K);
      }
    });
    sheet.y += spec.height + (spec.xTitle ? 4 : 0);
    if (spec.xTitle) {
      const right = WIDTH - sheet.margin - RIGHT;
      sheet.y += 8;
      sheet.text(spec.xTitle, right, sheet.y, shades.soft, { align: "right" });
      sheet.y += 8;
    }
    if (isFirst && figure.spec.hasEpisodes) episodes(sheet, figure);
    isFirst = false;
  }
  if (!figure.spec.hasEpisodes) legend(sheet, figure);
  sheet.y += 28;
  sheet.text(origin, sheet.margin, sheet.y, shades.soft, { size: 11, most: WIDTH - 48 });
  // uPlot draws in its own microtask.
  await new Promise((done) => setTimeout(done, 0));
  const canvas = sheet.finish();
  for (const panel of made) panel.destroy();
  return canvas;
}

function swatch(
  sheet: Sheet,
  style: LineStyle | undefined,
  x: number,
  y: number,
  isDots = false,
): void {
  if (!style) return;
  sheet.act((ctx) => {
    if (isDots) {
      const path = new Path2D();
      addMark(path, style, x + 6, y, 4);
      ctx.fillStyle = lineColor(style, shade());
      ctx.fill(path);
      return;
    }
    ctx.strokeStyle = lineColor(style, shade());
    ctx.setLineDash(lineDash(style));
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + 26, y);
    ctx.stroke();
  });
}

function legend(sheet: Sheet, figure: Figure): void {
  const { lines } = figure.spec;
  let x = sheet.margin;
  sheet.y += 24;
  for (const line of lines.visible) {
    const label = lines.all[line]?.label ?? "";
    const width = Math.min(sheet.textWidth(label.slice(0, 200), 13), 500) + 56;
    if (x > sheet.margin && x + width > WIDTH - sheet.margin) {
      x = sheet.margin;
      sheet.y += LANE;
    }
    swatch(sheet, lines.all[line]?.style, x, sheet.y - 4, figure.isDots);
    sheet.text(label, x + (figure.isDots ? 16 : 32), sheet.y, colors(shade()).ink, { most: 500 });
    x += width;
  }
}

function episodes(sheet: Sheet, figure: Figure): void {
  const { lines, view } = figure.spec;
  const left = sheet.margin + GUTTER;
  const width = WIDTH - sheet.margin - RIGHT - left;
  const shades = colors(shade());
  sheet.y += 6;
  for (const line of lines.visible) {
    const info = lines.all[line];
    const top = sheet.y;
    sheet.y += LANE;
    swatch(sheet, info?.style, sheet.margin, top + 10);
    sheet.text(info?.label ?? "", sheet.margin + 32, top + 14, shades.ink, { most: GUTTER - 40 });
    sheet.act((ctx) => {
      ctx.fillStyle = shades.grid;
      ctx.fillRect(left, top + LANE - 1, width, 1);
    });
    for (const episode of info?.episodes ?? []) {
      const from = left + Math.max(0, (episode.onset_s - view.min) / view.span) * width;
      const to = left + Math.min(1, (episode.end_s - view.min) / view.span) * width;
      if (to <= from) continue;
      sheet.act((ctx) => {
        fillBand(ctx, episode.cause, shade(), [from, top + 2, to - from, LANE - 4], 1, 1.6);
      });
      const words = bandWords(episode);
      const all = words.join(" ");
      const text = sheet.textWidth(all, 12, 600) < to - from - 12 ? all : words[0];
      if (to - from > 14) {
        const color = causeLook(episode.cause)[shade()];
        sheet.text(text, from + 5, top + 14, color, { size: 12, weight: 600 });
      }
    }
  }
  sheet.y += 8;
}
