// A rack: who is where and how it did, what places and drives do, and who passes.

import type { App } from "../app";
import { csvButton } from "../chart/save";
import { stage } from "../chart/stage";
import type { DeltaGroup, RackChart, RackDriveLine, RackSection } from "../contract";
import { csv } from "../data/csv";
import { capital, shortened, span, value } from "../data/format";
import { fold, h, svg, table, unbroken } from "../dom";
import { shade } from "../style/theme";
import { Deltas } from "./deltas";
import { MARKS, Picture } from "./rack_picture";

/** More drives of a model than this are folded. */
const MOST_OPEN = 12;
/** The links to the parts of the section. */
export function rackLinks(given: RackSection | null): [string, string][] {
  if (!given) return [];
  return [
    ["rack", "The rack"],
    ...(given.measures.length ? [["rack-effects", "Place or drive"] as [string, string]] : []),
    ["rack-drives", "Who passes"],
  ];
}

/** The picture, the effects and the list, by the measure that the reader chooses. */
export function rack(app: App, given: RackSection): HTMLElement {
  const picture = new Picture(given, (drive) => go(drive));
  const effects = h("section", { id: "rack-effects", "aria-labelledby": "rack-effects-title" });
  const show = (chosen: number) => {
    picture.chosen = chosen;
    picture.draw(shade());
    effects.replaceChildren(...effectsOf(app, given.measures[chosen]));
  };
  const select = h("select", { "aria-label": "What is compared" });
  given.measures.forEach(({ name, value_unit }, i) => {
    select.append(h("option", { value: i }, `${capital(name)}, ${value_unit}`));
  });
  select.addEventListener("change", () => show(Number(select.value)));
  show(0);
  return h(
    "section",
    { id: "rack", "aria-label": "The rack" },
    h(
      "div",
      { class: "tools heat" },
      given.measures.length ? select : null,
      h("span", { class: "grow" }),
      csvButton("rack", () => rows(given)),
    ),
    stage(picture),
    given.measures.length ? effects : null,
    list(given),
  );
}

function go(drive: number): void {
  const row = document.getElementById(`rack-drive-${drive}`);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  row?.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "center" });
  row?.focus({ preventScroll: true });
}

/** What places and drives do, with intervals. */
function effectsOf(app: App, measure: RackChart | undefined): Node[] {
  if (!measure) return [];
  const { sentence, unit, places, models } = measure;
  const groups = (given: readonly DeltaGroup[], title: (of: string) => string) =>
    given.map((group) => {
      const known = group.deltas.length > 0;
      const chart = () =>
        stage(new Deltas(app, title(group.title), group.deltas, () => points(group), unit));
      return [
        group.why_unknown && !sentence.includes(group.why_unknown)
          ? h("p", { class: "held" }, `${capital(group.title)}: ${group.why_unknown}.`)
          : null,
        known && group.deltas.length > MOST_OPEN
          ? fold(`${title(group.title)}: ${group.deltas.length} drives`, () => [chart()])
          : known
            ? chart()
            : null,
      ];
    });
  const hasIntervals = models.some(({ deltas }) => deltas.some(({ range }) => range));
  return [
    h("h2", { id: "rack-effects-title" }, "Place or drive"),
    h("p", { class: "summary" }, unbroken(sentence)),
    h(
      "div",
      {},
      groups(places, (label) => `${capital(label)}: against the mean`),
      h(
        "p",
        { class: "detail" },
        hasIntervals
          ? "Of drives: what is their own, with the effect of their places taken out."
          : "Of drives: as measured, wherever they ran; their own part cannot be told.",
      ),
      groups(models, (model) => `${model}: drives against others of the model`),
    ),
  ];
}

/** Why a drive does not pass, and whether that is its place or itself. */
function told({ why, explained }: RackDriveLine): string[] {
  return explained ? [...why, explained] : why;
}

/** What is said of a drive, by its verdict. */
const PASSES: Record<RackDriveLine["verdict"], string> = {
  passes: "yes",
  open: `${MARKS.open} open`,
  throttles: `${MARKS.throttles} throttles`,
  fails: `${MARKS.fails} no`,
};

/** Who passes, as a table with a line of throughput for each drive. */
function list({ drives }: RackSection): HTMLElement {
  const highest = Math.max(1, ...drives.flatMap(({ line }) => line));
  const header = ["Drive", "Passes", "Why not", "Where", "Model", "Firmware", "Throughput"];
  const made = table(
    "All drives, and whether they pass",
    header,
    drives.map((one) => [
      one.drive,
      h("span", { class: one.verdict === "passes" ? "yes" : "no" }, PASSES[one.verdict]),
      told(one).join("; "),
      h("span", { class: "unbroken" }, shortened(one.where, 60)),
      h("span", { class: "unbroken" }, shortened(one.model ?? "", 40)),
      one.firmware ?? "",
      one.line.length ? sparkline(one, highest) : "–",
    ]),
  );
  made.querySelectorAll("tbody tr").forEach((row, i) => {
    row.id = `rack-drive-${i}`;
    row.setAttribute("tabindex", "-1");
  });
  return h(
    "section",
    { id: "rack-drives", "aria-labelledby": "rack-drives-title" },
    h("h2", { id: "rack-drives-title" }, "Who passes"),
    h(
      "p",
      { class: "detail" },
      `Throughput of the first step, from 0 to ${value(highest, "MB/s")} for all.`,
    ),
    h("div", { class: "rack-list" }, made),
  );
}

const LINE = { width: 140, height: 28 };

function sparkline({ drive, line }: RackDriveLine, highest: number): Node {
  const x = (i: number) => (LINE.width * i) / Math.max(1, line.length - 1);
  const y = (v: number) => 1 + (LINE.height - 2) * (1 - v / highest);
  const d = line.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  return svg(
    "svg",
    {
      ...LINE,
      role: "img",
      class: "sparkline",
      "aria-label": `${drive}: ${span(line, "MB/s")}`,
    },
    svg("path", { d, fill: "none", "stroke-width": 1.5 }),
  );
}

function rows({ rows: hosts, columns, measures, drives, tiles }: RackSection): string[] {
  const header = ["row", "column", "drive", "model", "verdict", "why"];
  return csv(
    [...header, ...measures.map((one) => `${one.name} (${one.value_unit})`)],
    tiles.map(({ row, column, drive, values }) => {
      const one = drives[drive] as RackDriveLine;
      const whose = [hosts[row], columns[column], one.drive, one.model, one.verdict];
      return [...whose, told(one).join("; "), ...values];
    }),
  );
}

function points({ deltas }: DeltaGroup): string[] {
  return csv(
    ["name", "effect", "low", "high"],
    deltas.map(({ name, at, range }) => [name[0], at, range?.low, range?.high]),
  );
}
