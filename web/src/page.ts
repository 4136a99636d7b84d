// The layout of the page.

import type { App } from "./app";
import { shortened, words } from "./data/format";
import { DataError } from "./data/unpack";
import { h } from "./dom";
import { bars } from "./parts/bars";
import { comparisons } from "./parts/comparison";
import { curves } from "./parts/curves";
import { headline, notes, reasons } from "./parts/headline";
import { matrix } from "./parts/heatmap";
import { rack, rackLinks } from "./parts/rack";
import { recordings } from "./parts/recordings";
import { sweep } from "./parts/sweep";
import { twin } from "./parts/twin";
import { wholeRun, workload } from "./parts/workload";
import { shadeButton } from "./style/theme";

/** All sections; `damage` is a sentence if the numbers cannot be read. */
export function sections(app: App, damage: string | null): Node[] {
  const { page } = app;
  const beside = page.twin ?? null;
  const swept = page.sweep ?? null;
  const whole = page.overview ?? null;
  const parts = [
    headline(page),
    damage === null ? null : h("p", { class: "damage", role: "alert" }, damage),
    whole && damage === null ? guarded(whole.title, () => wholeRun(app, whole)) : null,
    page.rack ? rack(app, page.rack) : null,
    page.matrix ? matrix(app, page.matrix, (recording, id) => go(app, recording, id)) : null,
    reasons(page),
    curves(app, page.curves),
    overview(app, damage),
    notes(page),
    beside && damage === null ? guarded("Twin", () => twin(app, beside)) : null,
    swept && damage === null ? guarded("Sweep", () => sweep(app, swept)) : null,
    bars(app, page.bars),
    comparisons(app, page.comparisons),
    page.recordings.length ? recordings(app) : null,
    h("footer", {}, `${app.origin}. Everything on this page is in this one file.`),
  ].filter((part) => part !== null);
  return [navigation(app, damage === null), ...parts];
}

/** A row for each workload, with its charts behind it, or why there are none. */
function overview(app: App, damage: string | null): HTMLElement | null {
  const { workloads, sensor } = app.page;
  if (workloads.length === 0) return null;
  const hottest = sensor ? `Hottest (${words(sensor)})` : "Hottest";
  return h(
    "section",
    { id: "steps", "aria-labelledby": "steps-title" },
    h(
      "div",
      { class: "heads" },
      h("span", { id: "steps-title" }, "Step"),
      h("span", { class: "number" }, "Mean"),
      h("span", { class: "number" }, hottest),
      h("span", {}, "Verdict"),
      h("span", {}, "What it shows"),
    ),
    workloads.map((given) => workload(app, given, damage)),
  );
}

/** A section, or a sentence if its numbers are damaged. */
function guarded(title: string, made: () => HTMLElement | null): HTMLElement | null {
  try {
    return made();
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return h("section", {}, h("h2", {}, title), h("p", { class: "damage" }, error.message));
  }
}

function navigation(app: App, hasCharts: boolean): HTMLElement {
  const { page } = app;
  const links: [string, string][] = [
    ...(page.curves.length ? [["curves", "By load"] as [string, string]] : []),
    ...(page.workloads.length ? [["steps", "Steps"] as [string, string]] : []),
    ...(page.notes.length ? [["notes", "Notes"] as [string, string]] : []),
    ...(page.twin && hasCharts ? [["twin", "Twin"] as [string, string]] : []),
    ...(page.sweep && hasCharts ? [["sweep", "Sweep"] as [string, string]] : []),
    ...(page.bars.length ? [["scores", "Scores"] as [string, string]] : []),
    ...(page.comparisons.length ? [["comparisons", "Comparison"] as [string, string]] : []),
    ...rackLinks(page.rack ?? null),
    ...(page.recordings.length ? [["recordings", "How it was measured"] as [string, string]] : []),
  ];
  return h(
    "nav",
    { "aria-label": "Parts of this page" },
    h(
      "div",
      { class: "links" },
      links.map(([id, title]) => h("a", { href: `#${id}` }, shortened(title, 40))),
    ),
    page.is_live ? h("span", { class: "live", role: "status" }, "live") : null,
    shadeButton(),
  );
}

/** Goes to a workload's chart, or the first one, showing only the lines of one recording. */
function go(app: App, recording: number, id: string | null): void {
  const given = app.page.workloads.find((one) =>
    id ? one.id === id : one.lines.some((line) => line.recording === recording),
  );
  const target = given && document.getElementById(given.id);
  target?.dispatchEvent(new Event("unfold"));
  const lines = given && app.knownLines(given.id);
  if (!target || !lines) return;
  lines.showOnly(given.lines.flatMap((line, i) => (line.recording === recording ? [i] : [])));
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ behavior: still ? "auto" : "smooth" });
  target.querySelector<HTMLElement>("[data-chart]")?.focus({ preventScroll: true });
}
