/** Indexes of an indexed Job that follow each other. */
export interface IndexRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads indexes as Kubernetes writes them: `0-2,5`. Pure.
 *
 * Throws an Error in Kubernetes' words for what is none, is not in order, or is not below `completions`.
 */
export function parseIndexRanges(text: string, completions: number): IndexRange[] {
  if (text === '') return [];
  const ranges: IndexRange[] = [];
  for (const part of text.split(',')) {
    const range = parseRange(part, completions);
    const previous = ranges.at(-1)?.last;
    if (previous !== undefined && previous >= range.first) throw notInOrder(previous, range.first);
    ranges.push(range);
  }
  return ranges;
}

function parseRange(text: string, completions: number): IndexRange {
  const limits = text.split('-');
  if (limits.length > 2) {
    throw new Error(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  }
  const [first, last = first] = limits.map((limit) => {
    const index = /^\+?\d+$/.test(limit) ? Number(limit) : Number.NaN;
    if (Number.isNaN(index))
      throw new Error(`cannot convert string to integer for index: ${JSON.stringify(limit)}`);
    if (index >= completions) throw new Error(`too large index: ${JSON.stringify(limit)}`);
    return index;
  }) as [number, number?];
  if (limits.length === 2 && first >= last) throw notInOrder(first, last);
  return { first, last };
}

function notInOrder(previous: number, current: number): Error {
  return new Error(`non-increasing order, previous: ${previous}, current: ${current}`);
}

/** How many indexes these are. Pure. */
export function countIndexes(ranges: readonly IndexRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

/** How many of `indexes` are in these ranges; both are in order, and are passed through once. Pure. */
export function countIndexesWithin(ranges: readonly IndexRange[], indexes: readonly number[]): number {
  let [count, at] = [0, 0];
  for (const { first, last } of ranges) {
    while (at < indexes.length && indexes[at]! < first) at++;
    const from = at;
    while (at < indexes.length && indexes[at]! <= last) at++;
    count += at - from;
  }
  return count;
}

/** As Kubernetes writes them, from indexes in order: `0-2,5`; two that follow each other are no range. Pure. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const last = ranges.at(-1);
    if (last?.[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges
    .map(([from, to]) => {
      if (from === to) return String(from);
      return `${from}${to === from + 1 ? ',' : '-'}${to}`;
    })
    .join(',');
}
