// Episodes within a panel: bands for the selected line, marks at the onsets of others.

import uPlot from "uplot";
import type { Episode } from "../contract";
import { value } from "../data/format";
import { type Box, causeLook, fillBand } from "../style/causes";
import { lineColor } from "../style/lines";
import { colors } from "../style/colors";
import { font } from "./axes";
import type { Lines } from "./lines";
import type { Look } from "./panel";
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

function clipped(u: uPlot, { onset_s, end_s }: Episode): { x: number; width: number } | null {
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
