// The visible stretch of the horizontal axis: charts that share a view move together.

export class View {
  min: number;
  max: number;
  private readonly listeners = new Set<() => void>();

  constructor(
    public least: number,
    public most: number,
  ) {
    this.min = least;
    this.max = most;
  }

  get isWhole(): boolean {
    return this.min <= this.least && this.max >= this.most;
  }

  get span(): number {
    return this.max - this.min;
  }

  /** Shows a stretch, limited to the whole and to at least a millionth of it. */
  show(min: number, max: number): void {
    const whole = this.most - this.least;
    const span = Math.min(whole, Math.max(max - min, whole * 1e-6));
    const from = Math.min(Math.max(min, this.least), this.most - span);
    if (from === this.min && from + span === this.max) return;
    this.min = from;
    this.max = from + span;
    this.changed();
  }

  /** Zooms by a factor around the position `at`. */
  zoom(factor: number, at = (this.min + this.max) / 2): void {
    const span = this.span / factor;
    const from = at - ((at - this.min) / this.span) * span;
    this.show(from, from + span);
  }

  /** Moves by a share of the visible stretch. */
  pan(share: number): void {
    this.show(this.min + share * this.span, this.max + share * this.span);
  }

  reset(): void {
    this.show(this.least, this.most);
  }

  /** Extends the whole by later samples; a view of the whole keeps showing all of it. */
  extend(most: number): void {
    if (most <= this.most) return;
    const wasWhole = this.isWhole;
    this.most = most;
    if (wasWhole) this.max = most;
    this.changed();
  }

  /** Calls back after each change; returns a function that ends that. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
