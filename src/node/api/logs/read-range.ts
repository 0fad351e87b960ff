/** A part of a file: from its first byte to the one before `end`. */
export interface WantedRange {
  readonly first: number;
  readonly end: number;
}

/**
 * The part of so many bytes that a Range header requests.
 *
 * Undefined for the whole: no header, several parts, or an invalid one, as RFC 9110 requires.
 */
export function readRange(header: string, size: number): WantedRange | 'unsatisfiable' | undefined {
  const [from, to] = (/^bytes=([^-]*)-([^-]*)$/.exec(header)?.slice(1) ?? []).map((text) => text.trim());
  if (from === undefined || to === undefined) return undefined;
  if (!/^(?:\d+-\d*|-\d+)$/.test(`${from}-${to}`)) return undefined;
  if (from === '') {
    const last = Number(to);
    return last === 0 || size === 0 ? 'unsatisfiable' : { first: Math.max(0, size - last), end: size };
  }
  const [first, end] = [Number(from), to === '' ? size : Math.min(size, Number(to) + 1)];
  if (first >= size) return 'unsatisfiable';
  return to !== '' && Number(to) < first ? undefined : { first, end };
}
