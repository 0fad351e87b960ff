import { unescapeText } from './unescape-text.js';

/** A stretch of a text, from its first character to the one behind it, and what is to stand there instead. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/** A text that quotes one that quotes one: a runtime the error of its helper, which quotes a command. */
const DEEPEST_QUOTE = 3;

/**
 * Replaces what is found in a text, however somebody has written it down there: as it is, with escapes as Go and JSON
 * have them, or with its tabs and line ends as spaces. Pure.
 *
 * @param find is asked for the text in each reading of it, {@link withPlainSpace}.
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
  // One of them may hold another, or a part of it: the longer one is told of.
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  let replaced = '';
  let from = 0;
  for (const { start, end, shown } of found) {
    if (start >= from) replaced += text.slice(from, start) + shown;
    from = Math.max(from, end);
  }
  return from === 0 ? text : replaced + text.slice(from);
}

/** The text with a space for each character that is none to be seen: runtimes keep their messages to a line. Pure. */
export function withPlainSpace(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]/gu, ' ');
}
