/** What was found out, or why it could not be. */
export type Looked<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

export function known<T>(value: T): Looked<T> {
  return { known: true, value };
}

export function notKnown(why: string): { readonly known: false; readonly why: string } {
  return { known: false, why };
}

/** The value, or undefined. */
export function valueOf<T>(looked: Looked<T>): T | undefined {
  return looked.known ? looked.value : undefined;
}
