import { showInvisible } from '#base/text/show-invisible.js';

/** A line of a log. */
export interface LogLine {
  /** Undefined where the line has no time in front. */
  readonly atMs: number | undefined;
  readonly text: string;
  /** Whether it is the page that says so, and not the log. */
  readonly isNote?: boolean;
}

/** What changes colours and moves the cursor of a terminal. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** Other characters that have no picture; tabs stay. */
const CONTROLS = /[\0-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Places of a line that are marked: each is an element of the page. */
const MAX_MARKS = 100;

/** Reads a line as the agent sends it with `timestamps=true`. */
export function parseLogLine(line: string): LogLine {
  const [, time, text] = /^(\d{4}-\d\d-\d\dT\S+) ?([^]*)$/.exec(line) ?? [];
  const atMs = Date.parse(time ?? '');
  const shown = (Number.isNaN(atMs) ? line : text!).replaceAll(ESCAPES, '').replaceAll(CONTROLS, '');
  return { atMs: Number.isNaN(atMs) ? undefined : atMs, text: showInvisible(shown) };
}

/** The parts of a text before, in and behind each place of what is searched for; of very many, the first are marked. */
export function splitAt(
  text: string,
  wanted: string,
): readonly { readonly text: string; readonly isFound: boolean }[] {
  if (wanted === '') return [{ text, isFound: false }];
  const parts: { text: string; isFound: boolean }[] = [];
  const [low, sought] = [text.toLowerCase(), wanted.toLowerCase()];
  // Some letters change their length with their case; then nothing is marked rather than the wrong part.
  if (low.length !== text.length) return [{ text, isFound: false }];
  let from = 0;
  for (
    let at = low.indexOf(sought);
    at >= 0 && parts.length < 2 * MAX_MARKS;
    at = low.indexOf(sought, from)
  ) {
    if (at > from) parts.push({ text: text.slice(from, at), isFound: false });
    parts.push({ text: text.slice(at, at + sought.length), isFound: true });
    from = at + sought.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isFound: false });
  return parts;
}
