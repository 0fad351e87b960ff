import { messageOf } from '#base/errors/errors.js';

/** What was found out, or why it could not be. */
export type Looked<T> =
  { readonly known: true; readonly value: T } | { readonly known: false; readonly why: string };

/** Something that was found out. */
export function known<T>(value: T): Looked<T> {
  return { known: true, value };
}

/** Something that could not be found out, with the reason, for people. */
export function notKnown(why: string): { readonly known: false; readonly why: string } {
  return { known: false, why };
}

/** The value, or undefined. */
export function valueOf<T>(looked: Looked<T>): T | undefined {
  return looked.known ? looked.value : undefined;
}

/** The answer to a question, or why there is none. */
export async function ask<T>(question: () => Promise<T>): Promise<Looked<T>> {
  try {
    return known(await question());
  } catch (error) {
    return notKnown(messageOf(error));
  }
}
