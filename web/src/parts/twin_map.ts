// Maps of when and how far a twin's drive throttles, by air and by resistance to it.

import type { App } from "../app";
import { stage, unstage } from "../chart/stage";
import type { CoolingMap } from "../contract";
import { csv } from "../data/csv";
import { duration, number, ranged, shortened, value } from "../data/format";
import { h } from "../dom";
import type { Cell, Place } from "./cell_map";
import { MapAxis } from "./map_axis";
import { MapFigure, type Quantity } from "./map_figure";
import { isOpen, onsetShare, THROTTLES } from "./throttling";
import { airWords, pointAt, pointWords, recordedWords, resistanceWords } from "./twin_words";

const CALM = "does not throttle";

/** The maps: those of one place, which the reader chooses if there are several. */
export function coolingMaps(app: App, given: readonly CoolingMap[]): HTMLElement | null {
  const [first] = given;
  if (!first) return null;
  const holder = h("div", {}, stage(maps(app, first)));
  if (given.length === 1) return holder;
  const select = h("select", { "aria-label": "Place" });
  given.forEach(({ place }, i) => select.append(h("option", { value: i }, shortened(place, 80))));
  select.addEventListener("change", () => {
    const chosen = given[Number(select.value)];
    if (!chosen) return;
    unstage(holder);
    holder.replaceChildren(stage(maps(app, chosen)));
  });
  return h("div", {}, h("label", { class: "places" }, "Place ", select), holder);
}

function maps(app: App, given: CoolingMap): MapFigure {
  const { place, workload, duration_s, full_mb_s, own_air, own_k_per_w } = given;
  const own: Place = [own_air, own_k_per_w];
  return new MapFigure(app, {
    title: `Cooling of ${place}`,
    detail: `${place}: ${workload} for ${duration(duration_s)}, ${number(full_mb_s)} MB/s from rest`,
    notes: notes(given),
    columns: new MapAxis({
      title: "air at the drive, C",
      name: "Air at the drive",
      before: "Air at the drive:",
      labels: given.air_c.map((air) => number(air, 2)),
      words: (i) => airWords(given, i).replace(" air", ""),
      numbers: given.air_c,
    }),
    rows: new MapAxis({
      title: "K/W to the air",
      name: "Resistance to the air",
      before: "Heatsink or airflow that brings the resistance to the air to",
      labels: given.k_per_w.map((one) => number(one, 2)),
      words: (i) => resistanceWords(given, i).replace(" to the air", ""),
      numbers: given.k_per_w,
    }),
    quantities: [onset(given), depth(given)],
    words: ([column, row]) => pointWords(given, column, row),
    impossible: given.throttles.includes(null) ? "too hot even at rest" : null,
    own: { at: own, throttled: given.throttled > 0, words: recordedWords(given) },
    start: own,
    heading: `Cooling: ${app.page.title}`,
    csv: () => table(given),
  });
}

function onset(given: CoolingMap): Quantity {
  const known = given.onset_s.flatMap((one) => (one ? [one.mid] : []));
  const earliest = Math.max(1, Math.min(...known));
  return {
    title: "Throttles after",
    unit: "s",
    ends: [duration(given.duration_s), duration(earliest)],
    calm: CALM,
    cell: (place) =>
      cell(given, place, given.onset_s, (of) => onsetShare(of, earliest, given.duration_s)),
  };
}

function depth(given: CoolingMap): Quantity {
  const deepest = Math.max(1, ...given.depth_pct.map((one) => one?.mid ?? 0));
  return {
    title: "Speed lost in the worst minute",
    unit: "%",
    ends: [value(0, "%"), value(deepest, "%")],
    calm: CALM,
    cell: (place) => cell(given, place, given.depth_pct, (of) => of / deepest),
  };
}

function cell(
  given: CoolingMap,
  [column, row]: Place,
  values: CoolingMap["onset_s"],
  share: (of: number) => number,
): Cell {
  const at = pointAt(given, column, row);
  const probability = given.throttles[at] ?? null;
  const found = values[at]?.mid ?? null;
  const throttles = (probability ?? 1) >= THROTTLES;
  const isHot = probability !== null && throttles && found !== null;
  return {
    share: isHot ? share(found) : null,
    text: isHot ? number(found, 2) : "",
    throttles,
    isHatched: isOpen(probability),
    isPossible: probability !== null,
  };
}

function notes({ air_range_c, cliff }: CoolingMap): string[] {
  return [
    "The resistance is that of the whole way from the board to the air. " +
      `The air was ${ranged(air_range_c, "C")} by the fit: ` +
      "how much warmer or cooler it gets is known better than its temperature.",
    ...(cliff ? [cliff] : []),
  ];
}

function table(given: CoolingMap): string[] {
  const range = (name: string) => [`${name}_low`, name, `${name}_high`];
  const rows = given.k_per_w.flatMap((resistance, row) =>
    given.air_c.map((air, column) => {
      const at = pointAt(given, column, row);
      const three = (of: CoolingMap["onset_s"]) => [of[at]?.low, of[at]?.mid, of[at]?.high];
      return [
        given.place,
        air,
        resistance,
        given.throttles[at],
        ...three(given.onset_s),
        ...three(given.depth_pct),
        ...three(given.throttled_mb_s),
        given.max_temp_c[at],
      ];
    }),
  );
  return csv(
    [
      ...["place", "air_c", "k_per_w", "throttles"],
      ...[...range("onset_s"), ...range("depth_pct"), ...range("throttled_mb_s")],
      "max_reported_temp_c",
    ],
    rows,
  );
}
