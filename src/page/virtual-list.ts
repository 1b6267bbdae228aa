import { el } from './dom.ts';

/** A list of any length of which only what can be seen exists. */
export interface VirtualList {
  readonly element: HTMLElement;
  /** Draws what is visible of `count` rows. */
  render(count: number): void;
  /** Scrolls so that a row can be seen. */
  reveal(index: number): void;
  /** True while the last rows are in sight. */
  readonly isAtEnd: boolean;
  scrollToEnd(): void;
}

export interface VirtualListOptions {
  readonly rowHeight: number;
  /** Attributes of the element that scrolls. */
  readonly attributes: Readonly<Record<string, string>>;
  /** All that the picture of a row depends on. While it stays the same the row is not drawn again. */
  keyOf(index: number): string;
  /** Fills the element of a row. It may have shown another row before. */
  draw(row: HTMLElement, index: number): void;
}

/** Rows drawn beyond either edge, so that scrolling shows no gap. */
const SPARE_ROWS = 6;

/**
 * Makes a {@link VirtualList}. Its size and place are known from events, never asked for while it paints: the browser
 * would have to lay the whole page out to answer.
 */
export function createVirtualList(options: VirtualListOptions): VirtualList {
  return new SpacedList(options);
}

class SpacedList implements VirtualList {
  readonly element: HTMLElement;
  readonly #options: VirtualListOptions;
  readonly #space = el('div', { class: 'list-space', role: 'presentation' });
  readonly #rows: HTMLElement[] = [];
  readonly #drawn = new WeakMap<HTMLElement, string>();
  #count = 0;
  #height = 0;
  #top = 0;

  constructor(options: VirtualListOptions) {
    this.#options = options;
    this.element = el('div', { class: 'list', ...options.attributes }, this.#space);
    const scrolled = () => {
      this.#top = this.element.scrollTop;
      this.#paint();
    };
    this.element.addEventListener('scroll', scrolled, { passive: true });
    new ResizeObserver(() => {
      this.#height = this.element.clientHeight;
      this.#paint();
    }).observe(this.element);
  }

  get isAtEnd(): boolean {
    return this.#top >= this.#end - this.#options.rowHeight;
  }

  scrollToEnd(): void {
    this.#scrollTo(this.#end);
  }

  render(count: number): void {
    if (count !== this.#count) this.#space.style.height = `${count * this.#options.rowHeight}px`;
    this.#count = count;
    this.#top = Math.min(this.#top, this.#end);
    this.#paint();
  }

  reveal(index: number): void {
    const { rowHeight } = this.#options;
    const place = index * rowHeight;
    if (place < this.#top) this.#scrollTo(place);
    else if (place + rowHeight > this.#top + this.#height) this.#scrollTo(place + rowHeight - this.#height);
  }

  get #end(): number {
    return Math.max(0, this.#count * this.#options.rowHeight - this.#height);
  }

  #scrollTo(place: number): void {
    if (place === this.#top) return;
    this.element.scrollTop = place;
    this.#top = place;
    this.#paint();
  }

  #paint(): void {
    const { rowHeight } = this.#options;
    const first = Math.max(0, Math.floor(this.#top / rowHeight) - SPARE_ROWS);
    const visible = Math.ceil(this.#height / rowHeight) + 2 * SPARE_ROWS;
    this.#keepRows(Math.max(0, Math.min(this.#count, first + visible) - first));
    for (const [place, row] of this.#rows.entries()) this.#drawRow(row, first + place);
  }

  #keepRows(count: number): void {
    while (this.#rows.length < count) {
      const row = el('div', { class: 'row' });
      this.#rows.push(row);
      this.#space.append(row);
    }
    for (const spare of this.#rows.splice(count)) spare.remove();
  }

  #drawRow(row: HTMLElement, index: number): void {
    const { rowHeight, keyOf, draw } = this.#options;
    const key = `${index} ${keyOf(index)}`;
    if (this.#drawn.get(row) === key) return;
    this.#drawn.set(row, key);
    row.style.transform = `translateY(${index * rowHeight}px)`;
    draw(row, index);
  }
}
