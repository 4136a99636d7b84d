// Consistency: the IOPS of each second, over the whole step and over its last 400 s.

import type { App } from "../app";
import { Figure } from "../chart/figure";
import type { Lines } from "../chart/lines";
import { picture } from "../chart/picture";
import { saveButtons } from "../chart/save";
import { stage } from "../chart/stage";
import type { WorkloadSection } from "../contract";
import { csv } from "../data/csv";
import { clock, number, shortened } from "../data/format";
import { fold, h } from "../dom";

/** A fold with one or two scatter charts; nothing if the IOPS of seconds are unknown. */
export function scatter(
  app: App,
  given: WorkloadSection,
  lines: Lines,
  most: number,
): HTMLElement | null {
  if (!given.lines.some((line) => line.seconds)) return null;
  const last = given.last_s ?? null;
  return fold(
    "Consistency: the IOPS of each second",
    () => [
      h("p", { class: "summary" }, ratios(app, given)),
      h(
        "div",
        { class: last === null ? "" : "pair" },
        stage(chart(app, given, lines, [0, most], "IOPS of each second")),
        last === null
          ? null
          : stage(chart(app, given, lines, [most - last, most], `The last ${number(last)} s`)),
      ),
    ],
    last !== null,
  );
}

function ratios(app: App, given: WorkloadSection): string {
  const found = given.lines.flatMap((line) => {
    const own = app.step(line)?.consistency;
    return own?.ratio ? [{ label: shortened(line.label, 80), own }] : [];
  });
  if (found.length === 0) return "Each dot is one second.";
  found.sort((a, b) => (b.own.ratio ?? 0) - (a.own.ratio ?? 0));
  const [best, worst] = [found[0], found.at(-1)];
  const say = (one: typeof best) =>
    one
      ? `${one.label}: ${number(one.own.mean_iops)} IOPS, deviation ${number(one.own.stdev_iops)}, ` +
        `ratio ${number(one.own.ratio ?? 0)}`
      : "";
  const window = number(best?.own.window_s ?? 0);
  return (
    `Each dot is one second. Over the last ${window} s, mean over deviation: ` +
    (best === worst ? `${say(best)}.` : `steadiest ${say(best)}; least steady ${say(worst)}.`)
  );
}

function chart(
  app: App,
  given: WorkloadSection,
  lines: Lines,
  [least, most]: [number, number],
  name: string,
): Figure {
  const title = `${shortened(given.title, 200)}: ${name}`;
  const view = app.view(`${given.id}-seconds-${least > 0 ? "end" : "all"}`, least, most);
  return new Figure({
    title,
    detail: given.detail,
    summary: "Each dot is the IOPS of one second.",
    panels: [
      {
        title: least > 0 ? "At the end" : "Each second",
        unit: "IOPS",
        height: 280,
        traces: given.lines.flatMap(({ seconds, label, recording }, i) =>
          seconds
            ? [
                {
                  get series() {
                    return app.series(seconds);
                  },
                  style: app.style(recording),
                  kind: "dots" as const,
                  line: i,
                  label,
                },
              ]
            : [],
        ),
        x: "time",
        xTitle: "time since the step started",
        isFromZero: true,
        // as reviewers draw it: the whole step logarithmic, its end linear
        isLog: least === 0,
        isShown: true,
      },
    ],
    lines,
    view,
    say: (x) => clock(x, 0),
    hasEpisodes: false,
    open: () => undefined,
    tools: (figure) =>
      saveButtons(
        title,
        () => picture(figure, app.origin),
        () => rows(app, given, least),
      ),
  });
}

function rows(app: App, given: WorkloadSection, least: number): string[] {
  function* each(): Iterable<[string, number, number]> {
    for (const line of given.lines) {
      if (!line.seconds) continue;
      const series = app.series(line.seconds);
      for (let i = series.from(least); i < series.length; i++) {
        yield [line.label, series.t(i), series.v(i)];
      }
    }
  }
  return csv(["line", "t_s", "iops"], each());
}
