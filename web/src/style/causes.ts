// How a cause looks: a colour, a hatching and a letter, so that colour is never the only
// difference.

import palette from "../../../python/heatsoak/report/page/palette.json";
import type { Episode } from "../contract";
import { h } from "../dom";
import type { Shade } from "./colors";

export type Cause = Episode["cause"];

interface Look {
  letter: string;
  light: string;
  dark: string;
  hatch: string;
}

const LOOKS: Record<string, Look> = palette.causes;

/** The look of a cause; one that the page does not know looks like "unknown". */
export function causeLook(cause: string): Look {
  return LOOKS[cause] ?? (LOOKS.unknown as Look);
}

/** The letter of a cause on its colour. */
export function letter(cause: string): HTMLElement {
  const style = `--cause: var(--cause-${cause}, var(--cause-unknown))`;
  return h("b", { class: "letter", style, "aria-hidden": "true" }, causeLook(cause).letter);
}

/** Where a verdict stands among all: causes first, what is unknown last. */
export function causeRank(cause: string): number {
  const at = Object.keys(LOOKS).indexOf(cause);
  return at < 0 ? Object.keys(LOOKS).length : at;
}

const DIRECTIONS: Record<string, [number, number][]> = {
  rising: [[1, -1]],
  falling: [[1, 1]],
  level: [[1, 0]],
  upright: [[0, 1]],
  crossed: [
    [1, 0],
    [0, 1],
  ],
};

/** Left, top, width and height. */
export type Box = [number, number, number, number];

/** Fills a rectangle with a cause's tint and hatching; `k` enlarges it. */
export function fillBand(
  ctx: CanvasRenderingContext2D,
  cause: string,
  shade: Shade,
  [x, y, width, height]: Box,
  k: number,
  strength = 1,
): void {
  const look = causeLook(cause);
  const color = look[shade];
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  ctx.fillStyle = color;
  ctx.globalAlpha = 0.12 * strength;
  ctx.fillRect(x, y, width, height);
  ctx.globalAlpha = 0.2 * strength;
  ctx.strokeStyle = color;
  ctx.lineWidth = k;
  ctx.beginPath();
  const gap = 9 * k;
  if (look.hatch === "dotted") {
    for (let px = x; px < x + width; px += gap) {
      for (let py = y; py < y + height; py += gap) ctx.rect(px, py, k, k);
    }
  }
  for (const [dx, dy] of DIRECTIONS[look.hatch] ?? []) {
    if (dx === 0) {
      for (let px = x; px < x + width; px += gap) line(ctx, px, y, px, y + height);
    } else {
      const reach = dy === 0 ? 0 : width;
      for (let py = y - reach; py < y + height + reach; py += gap) {
        line(ctx, x, py, x + width, py + (dy / dx) * width);
      }
    }
  }
  ctx.stroke();
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, ax: number, ay: number, bx: number, by: number) {
  ctx.moveTo(ax, ay);
  ctx.lineTo(bx, by);
}
