// Files that the reader saves.

import { fileName } from "../data/format";
import { button } from "../dom";

/** Offers a file for download. */
export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A title, which may depend on what is shown. */
function now(title: string | (() => string)): string {
  return typeof title === "string" ? title : title();
}

/** Buttons that save a picture and its numbers. */
export function saveButtons(
  title: string | (() => string),
  picture: () => HTMLCanvasElement | Promise<HTMLCanvasElement>,
  table: () => string[],
): HTMLElement[] {
  const save = async () => {
    const canvas = await picture();
    const blob = await new Promise<Blob | null>((done) => {
      canvas.toBlob(done, "image/png");
    });
    if (blob) download(fileName(now(title), "png"), blob);
  };
  const png = button(
    "PNG",
    () => {
      png.disabled = true;
      void save().finally(() => {
        png.disabled = false;
      });
    },
    { "aria-label": `Save the picture of ${now(title)} as PNG`, title: "Save as PNG" },
  );
  return [png, csvButton(title, table)];
}

/** A button that saves numbers. */
export function csvButton(title: string | (() => string), table: () => string[]): HTMLElement {
  return button(
    "CSV",
    () =>
      download(fileName(now(title), "csv"), new Blob(table(), { type: "text/csv;charset=utf-8" })),
    { "aria-label": `Save the data of ${now(title)} as CSV`, title: "Save the data as CSV" },
  );
}
