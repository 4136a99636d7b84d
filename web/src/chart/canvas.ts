// Text and boxes on a canvas that will be saved.

import { shortened } from "../data/format";
import { font } from "./axes";

/** What a drawing is lettered in; as a picture it does not know the page's font. */
export const FONT = "system-ui, sans-serif";

/** The style of a line of text; `most` is its greatest width. */
export interface TextStyle {
  size?: number;
  weight?: number;
  most?: number;
  align?: CanvasTextAlign;
}

/** A sheet that grows downwards as it is written; all lengths are before scaling by `k`. */
export class Sheet {
  readonly canvas = document.createElement("canvas");
  private readonly acts: ((ctx: CanvasRenderingContext2D) => void)[] = [];
  private readonly measure = document.createElement("canvas").getContext("2d");
  y: number;

  constructor(
    readonly width: number,
    readonly k: number,
    readonly paper: string,
    readonly margin = 24,
  ) {
    this.y = margin;
  }

  /** Defers drawing until the size is known; lengths are before scaling. */
  act(what: (ctx: CanvasRenderingContext2D) => void): void {
    this.acts.push(what);
  }

  textWidth(text: string, size: number, weight = 400): number {
    if (!this.measure) return 0;
    this.measure.font = font(1, size, weight);
    return this.measure.measureText(text).width;
  }

  /** Writes a line at a position, shortened if it is too wide. */
  text(text: string, x: number, y: number, color: string, style: TextStyle = {}): void {
    const { size = 13, weight = 400, most = Number.POSITIVE_INFINITY, align = "left" } = style;
    const shown = this.fit(text, most, size, weight);
    this.act((ctx) => {
      ctx.font = font(1, size, weight);
      ctx.fillStyle = color;
      ctx.textAlign = align;
      ctx.textBaseline = "alphabetic";
      ctx.fillText(shown, x, y);
    });
  }

  /** Writes a paragraph at the left, and continues below it. */
  paragraph(text: string, color: string, size: number, weight = 400): void {
    const most = this.width - 2 * this.margin;
    let line = "";
    const flush = () => {
      this.y += size * 1.3;
      this.text(line, this.margin, this.y - size * 0.3, color, { size, weight, most });
      line = "";
    };
    for (const word of text.slice(0, 1000).split(/\s+/)) {
      const longer = line ? `${line} ${word}` : word;
      if (line && this.textWidth(longer, size, weight) > most) flush();
      line = line ? `${line} ${word}` : word;
    }
    if (line) flush();
  }

  /** Puts a drawing at the left, and continues below it. */
  async drawing(drawn: SVGSVGElement): Promise<void> {
    const image = await imageOf(drawn);
    const top = this.y;
    this.act((ctx) => {
      ctx.drawImage(image, this.margin, top, image.width, image.height);
    });
    this.y += image.height;
  }

  /** The picture. */
  finish(): HTMLCanvasElement {
    this.canvas.width = Math.ceil(this.width * this.k);
    this.canvas.height = Math.ceil((this.y + this.margin) * this.k);
    const ctx = this.canvas.getContext("2d");
    if (!ctx) throw new Error("no canvas");
    ctx.fillStyle = this.paper;
    ctx.fillRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.scale(this.k, this.k);
    for (const act of this.acts) {
      ctx.save();
      act(ctx);
      ctx.restore();
    }
    return this.canvas;
  }

  private fit(text: string, most: number, size: number, weight: number): string {
    let letters = 400;
    while (letters > 1 && this.textWidth(shortened(text, letters), size, weight) > most) {
      letters = Math.floor(Math.min(letters, text.length) * 0.9);
    }
    return shortened(text, letters);
  }
}

/** A drawing as a picture that a canvas takes. */
export async function imageOf(drawing: SVGSVGElement): Promise<HTMLImageElement> {
  const image = new Image(
    Number(drawing.getAttribute("width")),
    Number(drawing.getAttribute("height")),
  );
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await image.decode();
  return image;
}
