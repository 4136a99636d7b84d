// What the maps of a sweep can show.

import { duration, number, value } from "../data/format";
import type { Cell } from "./cell_map";
import type { Quantity } from "./map_figure";
import { isOpen, onsetShare } from "./throttling";
import type { SweepPoints } from "./sweep_points";

/** A quantity of points instead of places. */
export interface SweepQuantity extends Omit<Quantity, "cell"> {
  cell: (at: number) => Cell;
}

/** All quantities, the first two of which are shown at first. */
export function quantities(points: SweepPoints): SweepQuantity[] {
  const [earliest, latest] = points.extent("onset_mid_s");
  const soon = Math.max(1, earliest);
  const end = points.given.duration_s ?? latest;
  const [, deepest] = points.extent("depth_mid_pct");
  const [, fastest] = points.extent("throttled_mid_mb_s");
  const [coolest, hottest] = points.extent("max_reported_temp_mid_c");
  const ofLoss = { calm: "holds", isAlways: false };
  const ofAll = { calm: null, isAlways: true };
  return [
    quantity(points, "onset_mid_s", {
      title: "Throttles after",
      unit: "s",
      ends: latest > 0 ? [duration(end), duration(soon)] : null,
      share: (of) => onsetShare(of, soon, end),
      ...ofLoss,
    }),
    quantity(points, "depth_mid_pct", {
      title: "Speed lost in the worst minute",
      unit: "%",
      ends: deepest > 0 ? [value(0, "%"), value(deepest, "%")] : null,
      share: (of) => of / Math.max(1, deepest),
      ...ofLoss,
    }),
    quantity(points, "throttled_mid_mb_s", {
      title: "Speed left in the worst minute",
      unit: "MB/s",
      ends: fastest > 0 ? [value(fastest, "MB/s"), value(0, "MB/s")] : null,
      share: (of) => 1 - of / Math.max(1, fastest),
      ...ofLoss,
    }),
    quantity(points, "throttles", {
      title: "Probability of throttling",
      unit: "%",
      ends: [value(0, "%"), value(100, "%")],
      share: (of) => of,
      times: 100,
      ...ofAll,
    }),
    quantity(points, "max_reported_temp_mid_c", {
      title: "Highest reported temperature",
      unit: "C",
      ends: [value(coolest, "C"), value(hottest, "C")],
      share: (of) => (of - coolest) / Math.max(1, hottest - coolest),
      ...ofAll,
    }),
  ];
}

interface Look extends Omit<SweepQuantity, "cell"> {
  share: (of: number) => number;
  /** Whether points that hold have it too. */
  isAlways: boolean;
  times?: number;
}

function quantity(points: SweepPoints, name: string, look: Look): SweepQuantity {
  const { share, isAlways, times = 1, ...shown } = look;
  const cell = (at: number): Cell => {
    const probability = points.get("throttles", at);
    const throttles = points.throttles(at);
    const found = points.get(name, at);
    const isShown = probability !== null && (isAlways || throttles);
    return {
      // of a recorded workload, how far it falls is not known
      share: isShown ? (found === null ? 0 : share(found)) : null,
      text: isShown ? (found === null ? "–" : number(times * found, 2)) : "",
      throttles,
      isHatched: isOpen(probability),
      isPossible: probability !== null,
    };
  };
  return { ...shown, cell };
}
