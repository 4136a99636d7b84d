// The colours of both shades, which the report's pictures use too.

import palette from "../../../python/heatsoak/report/page/palette.json";

export type Shade = "light" | "dark";
export type Colors = (typeof palette)["light"];

/** The colours of a shade. */
export function colors(of: Shade): Colors {
  return palette[of];
}
