// Creates elements; text is always inserted as text.

import { shortened } from "./data/format";

type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined | EventListener>;

function filled<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, given] of Object.entries(attributes)) {
    if (typeof given === "function") element.addEventListener(name, given);
    else if (given === true) element.setAttribute(name, "");
    else if (given !== false && given !== null && given !== undefined) {
      element.setAttribute(name, String(given));
    }
  }
  add(element, children);
  return element;
}

/** Appends nodes, and everything else as text. */
export function add(to: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) add(to, child);
    else if (child instanceof Node) to.append(child);
    else if (child !== null && child !== undefined && child !== false) to.append(String(child));
  }
}

/** An HTML element; an attribute that is a function handles the event of that name. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A button with an action. */
export function button(label: Child, action: () => void, attributes: Attributes = {}) {
  return h("button", { type: "button", click: action, ...attributes }, label);
}

/** A sentence whose figures stay on one line with their units. */
export function unbroken(text: string): Child[] {
  return text
    .split(/(\d (?:%|[A-Za-zµ°]{1,2}\b(?:\/s\b)?|min\b|IOPS\b))/)
    .map((part, i) => (i % 2 ? h("span", { class: "unbroken" }, part) : part));
}

/** Long text in a table is shortened; the tooltip has all of it. */
const MOST_LETTERS = 300;
/** Text of more letters is given room, so that it is not set word by word. */
const LONG = 40;

function cellText(cell: Child): Child {
  if (typeof cell !== "string" || cell.length <= MOST_LETTERS) return cell;
  return h("span", { title: shortened(cell, 20 * MOST_LETTERS) }, shortened(cell, MOST_LETTERS));
}

/** A table that scrolls by itself; numbers are right-aligned. */
export function table(
  caption: string,
  header: readonly string[],
  rows: readonly (readonly Child[])[],
  numeric: readonly boolean[] = [],
): HTMLElement {
  const kind = (i: number, cell: Child = "") =>
    numeric[i] ? "number" : typeof cell === "string" && cell.length > LONG ? "long" : null;
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          header.map((text, i) => h("th", { scope: "col", class: kind(i) }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            row.map((cell, i) =>
              i === 0
                ? h("th", { scope: "row", class: kind(i, cell) }, cellText(cell))
                : h("td", { class: kind(i, cell) }, cellText(cell)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Copies a text if the browser permits it, or else selects it. */
async function copy(from: HTMLElement, told: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(from.textContent);
    told.textContent = "Copied";
  } catch {
    getSelection()?.selectAllChildren(from);
  }
}

/** Texts to copy, each with a button for it. */
export function code(title: string, texts: readonly string[]): HTMLElement {
  return h(
    "div",
    { hidden: texts.length === 0 },
    title ? h("h3", {}, title) : null,
    texts.map((text) => {
      const shown = h("pre", { tabindex: 0 }, text);
      const made = button("Copy", () => void copy(shown, made), { "aria-live": "polite" });
      return h("div", { class: "code" }, shown, made);
    }),
  );
}

/** A collapsed section whose content is made when it is first opened. */
export function fold(summary: Child, content: () => Node[], open = false): HTMLDetailsElement {
  const body = h("div", { class: "fold" });
  const details = h("details", {}, h("summary", {}, summary), body);
  let isMade = false;
  const make = () => {
    if (isMade || !details.open) return;
    isMade = true;
    body.append(...content());
  };
  details.addEventListener("toggle", make);
  details.addEventListener("unfold", () => {
    details.open = true;
    make();
  });
  if (open) {
    details.open = true;
    make();
  }
  return details;
}
