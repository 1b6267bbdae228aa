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
export function createVirtualList({ rowHeight, attributes, keyOf, draw }: VirtualListOptions): VirtualList {
  const space = el('div', { class: 'list-space', role: 'presentation' });
  const element = el('div', { class: 'list', ...attributes }, space);
  const rows: HTMLElement[] = [];
  const drawn = new WeakMap<HTMLElement, string>();
  let count = 0;
  let height = 0;
  let top = 0;

  const paint = () => {
    const first = Math.max(0, Math.floor(top / rowHeight) - SPARE_ROWS);
    const visible = Math.ceil(height / rowHeight) + 2 * SPARE_ROWS;
    const last = Math.min(count, first + visible);
    while (rows.length < last - first) {
      const row = el('div', { class: 'row' });
      rows.push(row);
      space.append(row);
    }
    for (const spare of rows.splice(Math.max(0, last - first))) spare.remove();
    rows.forEach((row, place) => {
      const index = first + place;
      const key = `${index} ${keyOf(index)}`;
      if (drawn.get(row) === key) return;
      drawn.set(row, key);
      row.style.transform = `translateY(${index * rowHeight}px)`;
      draw(row, index);
    });
  };
  const scrollTo = (place: number) => {
    if (place === top) return;
    element.scrollTop = place;
    top = place;
    paint();
  };

  element.addEventListener(
    'scroll',
    () => {
      top = element.scrollTop;
      paint();
    },
    { passive: true },
  );
  new ResizeObserver(() => {
    height = element.clientHeight;
    paint();
  }).observe(element);
  const end = () => Math.max(0, count * rowHeight - height);
  return {
    element,
    get isAtEnd() {
      return top >= end() - rowHeight;
    },
    scrollToEnd: () => scrollTo(end()),
    render(total) {
      if (total !== count) space.style.height = `${total * rowHeight}px`;
      count = total;
      top = Math.min(top, end());
      paint();
    },
    reveal(index) {
      const place = index * rowHeight;
      if (place < top) scrollTo(place);
      else if (place + rowHeight > top + height) scrollTo(place + rowHeight - height);
    },
  };
}
