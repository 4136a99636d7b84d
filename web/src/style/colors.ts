// The colours of both shades, which the report's pictures use too.

import palette from "../../../python/heatsoak/report/page/palette.json";

export type Shade = "light" | "dark";
export type Colors = (typeof palette)["light"];

/** The colours of a shade. */
export function colors(of: Shade): Colors {
  return palette[of];
}

type Rgb = [number, number, number];

function rgb(hex: string): Rgb {
  const n = Number.parseInt(hex.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** A colour between the stops, `share` from 0 to 1, and black or white, whichever reads better. */
export function ramp(stops: readonly string[], share: number): { back: string; ink: string } {
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const i = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [rgb(stops[i] ?? "#000000"), rgb(stops[i + 1] ?? "#000000")];
  const color = a.map((part, n) => Math.round(part + (at - i) * ((b[n] ?? part) - part))) as Rgb;
  const light = luminance(color);
  const isDark = 1.05 / (light + 0.05) > (light + 0.05) / 0.05;
  return { back: `rgb(${color.join(" ")})`, ink: isDark ? "#ffffff" : "#000000" };
}
