// Reads the page's data, shows them, and follows a recording that is still running.

import "uplot/dist/uPlot.min.css";
import "./css/page.css";
import "./css/content.css";
import "./css/evidence.css";
import "./css/chart.css";
import "./css/lanes.css";
import "./css/twin.css";
import "./css/maps.css";
import "./css/rack.css";
import "./css/print.css";
import { App } from "./app";
import { onPrint, redraw, unstage } from "./chart/stage";
import type { Appended, Page } from "./contract";
import { DataError, inflate } from "./data/unpack";
import { h } from "./dom";
import { sections } from "./page";
import { evidenceDialog } from "./parts/evidence";
import { paletteStyle } from "./style/lines";
import { apply, onShade } from "./style/theme";

/** Listens for new samples; `renew` fetches the page again. Returns a function that stops. */
function follow(app: () => App, renew: () => Promise<void>): () => void {
  const source = new EventSource("events");
  let renewing = false;
  const again = async () => {
    if (renewing) return;
    renewing = true;
    try {
      await renew();
    } finally {
      renewing = false;
    }
  };
  source.addEventListener("append", (event: MessageEvent<string>) => {
    const given = JSON.parse(event.data) as Appended[];
    if (!given.every((one) => append(app(), one))) void again();
    app().refresh();
  });
  source.addEventListener("page", () => void again());
  source.addEventListener("open", () => state("live"));
  source.addEventListener("error", () => {
    // a server that was started anew has another token: the browser then asks no more
    const isOver = source.readyState === EventSource.CLOSED;
    state(isOver ? "no longer live" : "live, waiting for the connection");
  });
  return () => source.close();
}

function state(text: string): void {
  const shown = document.querySelector(".live");
  if (shown) shown.textContent = text;
}

/** Whether the page has the track, so that its samples could be added. */
function append(app: App, given: Appended): boolean {
  const workload = app.page.workloads.find(({ id }) => id === given.workload);
  const line = workload?.lines.find(({ recording }) => recording === given.recording);
  const track = line?.tracks.find(({ name }) => name === given.track);
  if (!workload || !track) return false;
  app.series(track).append(given.t, given.v);
  const last = given.t.at(-1);
  if (last !== undefined) app.viewOf(workload.id)?.extend(last);
  return true;
}

/** A name for each fold of the page: its id, or the section that it is in and its summary. */
function named(main: HTMLElement): [string, HTMLDetailsElement][] {
  return [...main.querySelectorAll("details")].map((details) => {
    if (details.id) return [details.id, details];
    const section = details.parentElement?.closest("[id]")?.id ?? "";
    return [`${section}/${details.querySelector("summary")?.textContent ?? ""}`, details];
  });
}

/** The names of the open folds. */
function openFolds(main: HTMLElement): Set<string> {
  return new Set(
    named(main)
      .filter(([, details]) => details.open)
      .map(([name]) => name),
  );
}

/** Opens the folds that still exist. */
function unfold(main: HTMLElement, names: ReadonlySet<string>): void {
  for (const [name, details] of named(main)) {
    if (names.has(name)) details.dispatchEvent(new Event("unfold"));
  }
}

const AGAIN = "Make the page again with `heatsoak report`, or copy the file again.";
const UNREADABLE = `This file is damaged or cut off: its findings cannot be read. ${AGAIN}`;
const PARTLY = `A part of this page cannot be shown: the file may be damaged. ${AGAIN}`;

const dialog = evidenceDialog();
let app: App | null = null;

function embedded(): Page {
  const text = document.getElementById("heatsoak-page")?.textContent;
  return JSON.parse(text ?? "") as Page;
}

async function fetched(): Promise<Page> {
  const answer = await fetch("page.json", { cache: "no-store" });
  if (!answer.ok) throw new Error(`page.json: ${answer.status}`);
  return (await answer.json()) as Page;
}

async function show(main: HTMLElement, page: Page): Promise<void> {
  let bytes = new Uint8Array();
  let damage: string | null = null;
  try {
    bytes = (await inflate(page.data)) as Uint8Array<ArrayBuffer>;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    damage = error.message;
  }
  const top = scrollY;
  const opened = openFolds(main);
  unstage(main);
  app = new App(page, bytes, dialog.open, app);
  document.title = page.title;
  main.replaceChildren(...sections(app, damage));
  unfold(main, opened);
  scrollTo(0, top);
}

/** Signals when everything in sight is drawn: charts are drawn in the frame after they are seen. */
function markDrawn(): void {
  const frame = (then: () => void) => requestAnimationFrame(() => setTimeout(then, 0));
  frame(() => frame(() => performance.mark("heatsoak-drawn")));
}

async function start(main: HTMLElement): Promise<void> {
  document.head.append(h("style", {}, paletteStyle()));
  apply();
  onShade(redraw);
  onPrint();
  document.body.append(dialog.element);
  // much is drawn only once it comes into sight
  addEventListener("error", ({ error }: { error?: unknown }) => {
    // without an error it is a layout that is still changing, which is no fault
    if (!error || main.querySelector(":scope > [role=alert]")) return;
    main.prepend(h("p", { class: "damage", role: "alert" }, PARTLY));
  });
  let page: Page;
  try {
    page = embedded();
    await show(main, page);
  } catch {
    main.replaceChildren(h("p", { class: "damage", role: "alert" }, UNREADABLE));
    return;
  }
  markDrawn();
  if (page.is_live && location.protocol !== "file:") live(main);
}

function live(main: HTMLElement): void {
  const current = () => app as App;
  const stop = follow(current, async () => {
    const page = await fetched();
    await show(main, page);
    if (!page.is_live) stop();
  });
}

const main = document.getElementById("heatsoak");
if (main) void start(main);
