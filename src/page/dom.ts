// The one place where elements are made. Text only ever goes in as text: nothing here parses markup.

type Child = Node | string | number | undefined | false;

/** Attributes; `on*` functions are listeners, `false` and undefined leave one out. */
interface Attributes {
  readonly [name: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** An HTML element. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...nodesOf(children));
  return element;
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(element, attributes);
  element.append(...nodesOf(children));
  return element;
}

/** Puts `children` in place of what an element holds. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(...nodesOf(children));
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    // A listener is typed where it is written; here it is any function of an event.
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as (event: Event) => void);
    else if (value === true) element.setAttribute(name, '');
    else element.setAttribute(name, isRead(name) ? shownText(String(value), MAX_READ_CHARS) : String(value));
  }
}

/** Longest text of an attribute that people read or hear. */
const MAX_READ_CHARS = 2_000;

function isRead(attribute: string): boolean {
  return attribute === 'title' || attribute.startsWith('aria-') || attribute === 'placeholder';
}

function nodesOf(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === undefined || child === false) return [];
    return [child instanceof Node ? child : shownText(String(child))];
  });
}

/**
 * Characters that a reader does not see or that turn the text after them around. They are written as what they are:
 * a name that hides something should look like one.
 */
const UNSEEN =
  /[[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u{FFF9}-\u{FFFB}]--[\n\t\u{FE0F}\u{200D}]]/gv;

/** Foreign text as it is shown, at most `maxChars` of it. */
export function shownText(text: string, maxChars = 20_000): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return cut
    .replace(/\r\n?/g, '\n')
    .replace(
      UNSEEN,
      (unseen) => `\u2039U+${(unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u203A`,
    )
    .toWellFormed();
}
