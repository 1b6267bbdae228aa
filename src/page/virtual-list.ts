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
  /** Fills the element of a row. It may have shown another row before. */
  draw(row: HTMLElement, index: number): void;
}

/** Rows drawn beyond either edge, so that scrolling shows no gap. */
const SPARE_ROWS = 6;

/** Makes a {@link VirtualList}. */
export function createVirtualList({ rowHeight, attributes, draw }: VirtualListOptions): VirtualList {
  const space = el('div', { class: 'list-space', role: 'presentation' });
  const element = el('div', { class: 'list', ...attributes }, space);
  const rows: HTMLElement[] = [];
  let count = 0;

  const paint = () => {
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - SPARE_ROWS);
    const visible = Math.ceil(element.clientHeight / rowHeight) + 2 * SPARE_ROWS;
    const last = Math.min(count, first + visible);
    while (rows.length < last - first) {
      const row = el('div', { class: 'row' });
      rows.push(row);
      space.append(row);
    }
    for (const spare of rows.splice(Math.max(0, last - first))) spare.remove();
    rows.forEach((row, place) => {
      const index = first + place;
      row.style.transform = `translateY(${index * rowHeight}px)`;
      draw(row, index);
    });
  };

  element.addEventListener('scroll', paint, { passive: true });
  new ResizeObserver(paint).observe(element);
  const end = () => Math.max(0, count * rowHeight - element.clientHeight);
  return {
    element,
    get isAtEnd() {
      return element.scrollTop >= end() - rowHeight;
    },
    scrollToEnd() {
      element.scrollTop = end();
    },
    render(total) {
      count = total;
      space.style.height = `${count * rowHeight}px`;
      paint();
    },
    reveal(index) {
      const top = index * rowHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top + rowHeight > element.scrollTop + element.clientHeight) {
        element.scrollTop = top + rowHeight - element.clientHeight;
      }
    },
  };
}
