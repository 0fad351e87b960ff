import { unescapeText } from './unescape-text.js';

/** A range of a text (`end` is exclusive) and its replacement. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/** Levels of quoting: a runtime quotes the error of its helper, which quotes a command. */
const DEEPEST_QUOTE = 3;

/**
 * Replaces matches in a text, also where the text quotes them.
 *
 * A match may be there as it is, with escapes of Go and JSON, or with its tabs and line ends as spaces. Pure.
 *
 * @param find is called with each reading of the text, after {@link withPlainSpace}.
 */
export function replaceQuoted(text: string, find: (plain: string) => readonly Replacement[]): string {
  const found = [...find(withPlainSpace(text))];
  let places: Uint32Array | undefined;
  for (let [depth, quoted] = [0, text]; depth < DEEPEST_QUOTE; depth++) {
    const inner = unescapeText(quoted);
    if (inner === undefined) break;
    const outer = places;
    const own = outer === undefined ? inner.places : inner.places.map((at) => outer[at]!);
    [places, quoted] = [own, inner.text];
    for (const { start, end, shown } of find(withPlainSpace(quoted)))
      found.push({ start: own[start]!, end: own[end]!, shown });
  }
  // Matches may overlap or contain one another; the longer one comes first.
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  let replaced = '';
  let from = 0;
  for (const { start, end, shown } of found) {
    if (start >= from) replaced += text.slice(from, start) + shown;
    from = Math.max(from, end);
  }
  return from === 0 ? text : replaced + text.slice(from);
}

/** The text with a space for each invisible character, as runtimes put their messages on one line. Pure. */
export function withPlainSpace(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]/gu, ' ');
}
