import { findCredentials, REDACTED } from '#base/text/without-credentials.js';
import { type SecretBook } from './secret-book.js';
import { type Span } from '../replay/text-index.js';

/** Longer errors say no more: the rest is left out. */
const MAX_ERROR_LENGTH = 16_384;
/** The maximum that is read of one. */
const MAX_READ_LENGTH = 65_536;
/** A secret may be cut in two where the reading ends. */
const MAX_HALF_LENGTH = 4_096;

/** What a runtime quotes: names of programs, values, paths; also where the end of it is missing. */
const QUOTED = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs;
/** Ids of containers and sandboxes, which are not secret. */
const ID = /^"[0-9a-f]{8,64}"$/;

/**
 * An error of a runtime without what was taken out elsewhere and without credentials; with `redactsQuotes` also without
 * what it quotes, unless that is an id. Of a long one only the begin.
 */
export async function redactError(
  text: string,
  secrets: SecretBook,
  redactsQuotes: boolean,
): Promise<string> {
  const read = text.slice(0, MAX_READ_LENGTH);
  const spans: Span[] = await secrets.findIn(read);
  if (text.length > read.length) spans.push([read.length - MAX_HALF_LENGTH, read.length]);
  spans.push(...findCredentials(read));
  if (redactsQuotes) {
    for (const { 0: found, index } of read.matchAll(QUOTED)) {
      const end = index + found.length;
      const isClosed = found.length > 1 && found.endsWith('"');
      if (!ID.test(found)) spans.push([index + 1, isClosed ? end - 1 : end]);
    }
  }
  const kept = takeOut(read, spans);
  const more = Math.max(kept.length - MAX_ERROR_LENGTH, 0) + text.length - read.length;
  return more === 0 ? kept : `${kept.slice(0, MAX_ERROR_LENGTH)}… (${more} more characters)`;
}

/** What overlaps, or is side by side, is taken out as one. */
function takeOut(text: string, spans: Span[]): string {
  spans.sort(([one], [other]) => one - other);
  const parts: string[] = [];
  let [done, from, to] = [0, 0, 0];
  const finish = (): void => {
    if (to > from) parts.push(text.slice(done, from), REDACTED);
    done = Math.max(done, to);
  };
  for (const [begin, end] of spans) {
    if (begin <= to && to > from) to = Math.max(to, end);
    else {
      finish();
      [from, to] = [begin, end];
    }
  }
  finish();
  return parts.join('') + text.slice(done);
}
