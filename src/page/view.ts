/** A part of the page that draws what the store holds. */
export interface View {
  readonly element: HTMLElement;
  /** Called when anything changed. */
  render(): void;
}
