// Episodes within a panel: bands for the selected line, marks at the onsets of others.

import uPlot from "uplot";
import type { Episode, StepBand } from "../contract";
import { shortened, value } from "../data/format";
import { type Box, causeLook, fillBand } from "../style/causes";
import { lineColor } from "../style/lines";
import { colors } from "../style/colors";
import { font } from "./axes";
import type { Lines } from "./lines";
import type { Level, Look } from "./panel";
import type { Trace } from "./trace";

/** Letter, cause and depth: `H`, `thermal`, `-43 %`. */
export function bandWords({ cause, depth_pct }: Episode): [string, string, string] {
  return [causeLook(cause).letter, cause, value(-depth_pct, "%")];
}

/** Draws the bands of the given line, behind the lines. */
export function drawBands(u: uPlot, look: Look, lines: Lines): void {
  const { told } = lines;
  if (told === null) return;
  for (const episode of lines.all[told]?.episodes ?? []) {
    const box = clipped(u, episode);
    if (!box) continue;
    const area: Box = [box.x, u.bbox.top, box.width, u.bbox.height];
    fillBand(u.ctx, episode.cause, look.shade, area, look.k * uPlot.pxRatio);
  }
}

/** Shades every second load of a recording, with the names that there is room for. */
export function drawLoads(
  u: uPlot,
  look: Look,
  loads: readonly StepBand[],
  isNamed: boolean,
): void {
  const k = look.k * uPlot.pxRatio;
  const { ctx } = u;
  const { top, height } = u.bbox;
  ctx.save();
  ctx.font = font(k, 11);
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom"; // a drive at full speed is drawn at the top
  loads.forEach(({ name, start_s, end_s }, i) => {
    const box = clipped(u, { onset_s: start_s, end_s });
    if (!box) return;
    ctx.globalAlpha = i % 2 ? 0.25 : 0.6;
    ctx.fillStyle = colors(look.shade).grid;
    ctx.fillRect(box.x, top, box.width, height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = colors(look.shade).soft;
    const letters = Math.floor(box.width / (6.2 * k));
    const foot = top + height - 3 * k;
    if (isNamed && letters > 5) ctx.fillText(shortened(name, letters), box.x + 3 * k, foot);
  });
  ctx.restore();
}

/** Draws lines across a panel, with what each is. */
export function drawLevels(u: uPlot, look: Look, levels: readonly Level[]): void {
  const k = look.k * uPlot.pxRatio;
  const { ctx } = u;
  const { left, width } = u.bbox;
  ctx.save();
  ctx.font = font(k, 11);
  ctx.textAlign = "right";
  ctx.lineWidth = 1.2 * k;
  ctx.setLineDash([6 * k, 4 * k]);
  for (const { at, label } of levels) {
    const y = u.valToPos(at, "y", true);
    ctx.fillStyle = ctx.strokeStyle = causeLook("thermal")[look.shade];
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.fillText(label, left + width - 4 * k, y + 12 * k);
  }
  ctx.restore();
}

function clipped(
  u: uPlot,
  { onset_s, end_s }: Pick<Episode, "onset_s" | "end_s">,
): { x: number; width: number } | null {
  const { left, width } = u.bbox;
  const from = Math.max(left, u.valToPos(onset_s, "x", true));
  const to = Math.min(left + width, u.valToPos(end_s, "x", true));
  return to > left && from < left + width ? { x: from, width: Math.max(to - from, 2) } : null;
}

/** Draws a ring at each onset of the visible lines. */
export function drawOnsets(u: uPlot, look: Look, lines: Lines, traces: readonly Trace[]): void {
  const k = look.k * uPlot.pxRatio;
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  const seen = new Set<number>();
  for (const trace of traces) {
    if (!lines.shown(trace.line) || seen.has(trace.line)) continue;
    seen.add(trace.line);
    ctx.globalAlpha = lines.focus === null || lines.focus === trace.line ? 1 : 0.2;
    for (const { onset_s } of lines.all[trace.line]?.episodes ?? []) {
      const i = trace.series.nearest(onset_s);
      if (i < 0) continue;
      ctx.beginPath();
      const y = u.valToPos(trace.series.v(i), "y", true);
      ctx.arc(u.valToPos(onset_s, "x", true), y, 4 * k, 0, 2 * Math.PI);
      ctx.fillStyle = colors(look.shade).paper;
      ctx.fill();
      ctx.setLineDash([]);
      ctx.lineWidth = 1.6 * k;
      ctx.strokeStyle = lineColor(trace.style, look.shade);
      ctx.stroke();
    }
  }
  ctx.restore();
}

/** Draws an upright line where heat began to slow the drive, with the letter of that cause. */
export function drawHeat(u: uPlot, look: Look, onsets: readonly number[]): void {
  const k = look.k * uPlot.pxRatio;
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const { letter, [look.shade]: color } = causeLook("thermal");
  ctx.save();
  ctx.font = font(k, 11, 700);
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 1.2 * k;
  ctx.strokeStyle = color;
  for (const onset of onsets) {
    const x = u.valToPos(onset, "x", true);
    if (x < left || x > left + width) continue;
    ctx.setLineDash([3 * k, 3 * k]);
    ctx.beginPath();
    ctx.moveTo(x, top + 16 * k);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.fillStyle = color;
    ctx.fillRect(x - 8 * k, top, 16 * k, 16 * k);
    ctx.fillStyle = colors(look.shade).paper;
    ctx.fillText(letter, x, top + 8.5 * k);
  }
  ctx.restore();
}
