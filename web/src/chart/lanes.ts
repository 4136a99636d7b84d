// The legend: a row for each line, with its episodes on the chart's own time axis.

import type { Episode } from "../contract";
import { shortened, span } from "../data/format";
import { button, h } from "../dom";
import { causeLook } from "../style/causes";
import { swatch } from "../style/lines";
import { bandWords } from "./bands";
import type { Lines } from "./lines";
import type { View } from "./view";

/** An episode in a sentence, for a button's name. */
export function episodeText(label: string, episode: Episode): string {
  return (
    `${bandWords(episode).join(" ")}: ${shortened(label, 120)}, ` +
    `from ${span([episode.onset_s, episode.end_s], "s")}; show the evidence`
  );
}

/** What two lines beside a chart have room for. */
const MOST_LETTERS = 72;

/** Rows of names, with bands along `view` for lines with episodes. */
export function lanes(
  lines: Lines,
  view: View | null,
  isDots: boolean,
  open: (line: number, episode: number) => void,
): { element: HTMLElement; update: () => void } {
  const placing: (() => void)[] = [];
  const rows = lines.all.map((info, line) => {
    const name = button(
      [swatch(info.style, isDots), h("span", {}, shortened(info.label, MOST_LETTERS))],
      () => lines.toggle(line),
    );
    name.className = "lane-name";
    name.title = `${shortened(info.label, 300)}: show or hide`;
    name.addEventListener("dblclick", () => lines.solo(line));
    const only = button("only", () => lines.solo(line), {
      class: "lane-only",
      "aria-label": `only ${shortened(info.label, 120)}, or all lines again`,
    });
    const track = view ? h("div", { class: "lane-track" }) : null;
    if (track && view) {
      if (info.episodes.length === 0) {
        track.append(h("span", { class: "lane-word" }, info.words));
      }
      info.episodes.forEach((episode, i) => {
        const band = bandButton(info.label, episode, () => open(line, i));
        placing.push(() => place(band, episode, view));
        track.append(band);
      });
    }
    const row = h(
      "div",
      { class: "lane" },
      h("div", { class: "lane-head" }, name, lines.all.length > 1 && only),
      track,
    );
    row.addEventListener("pointerenter", () => lines.look(line));
    row.addEventListener("pointerleave", () => lines.look(null));
    row.addEventListener("focusin", () => lines.look(line));
    row.addEventListener("focusout", () => lines.look(null));
    placing.push(() => {
      name.setAttribute("aria-pressed", String(lines.shown(line)));
      row.classList.toggle("off", !lines.shown(line));
      row.classList.toggle("looked", lines.focus === line);
    });
    return row;
  });
  const update = () => {
    for (const one of placing) one();
  };
  update();
  const element = h(
    "div",
    { class: view ? "lanes" : "legend", role: "group", "aria-label": "Lines: show or hide" },
    rows,
  );
  return { element, update };
}

function bandButton(label: string, episode: Episode, open: () => void): HTMLButtonElement {
  const look = causeLook(episode.cause);
  return button(
    bandWords(episode).map((word, i) => [" ", h(i === 0 ? "b" : "span", {}, word)]),
    open,
    {
      class: `band hatch-${look.hatch}`,
      style: `--cause: var(--cause-${episode.cause}, var(--cause-unknown))`,
      "aria-label": episodeText(label, episode),
      title: episodeText(label, episode),
    },
  );
}

function place(band: HTMLElement, { onset_s, end_s }: Episode, view: View): void {
  const left = Math.max(0, (onset_s - view.min) / view.span);
  const right = Math.min(1, (end_s - view.min) / view.span);
  band.hidden = right <= 0 || left >= 1;
  band.style.left = `${left * 100}%`;
  band.style.width = `${Math.max(0, right - left) * 100}%`;
}
