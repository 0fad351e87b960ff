import { countLines, findTail } from './find-tail.js';
import { gunzip } from './log-blocks.js';
import { type OpenLogs } from './open-logs.js';

/** Where the last lines of a log begin. */
export interface TailPlace {
  /** The index among the rotated files; behind them all for the current file. */
  readonly index: number;
  /** Offset in it. */
  readonly start: number;
  /** Lines of a compressed file to skip. */
  readonly skippedLines: number;
}

/** Finds where the last `wanted` lines of all files together begin. */
export async function findTailPlace(logs: OpenLogs, wanted: number): Promise<TailPlace> {
  const { rotated, current } = logs;
  let left = wanted;
  if (current !== undefined) {
    const { start, lines } = await findTail(current, (await current.stat()).size, left);
    left -= lines;
    if (left === 0) return { index: rotated.length, start, skippedLines: 0 };
  }
  for (const [index, each] of [...rotated.entries()].reverse()) {
    await using file = await logs.openRotated(each);
    if (file === undefined) continue;
    if (each.isCompressed) {
      const lines = await countLines(gunzip(file));
      if (lines >= left) return { index, start: 0, skippedLines: lines - left };
      left -= lines;
    } else {
      const { start, lines } = await findTail(file, (await file.stat()).size, left);
      left -= lines;
      if (left === 0) return { index, start, skippedLines: 0 };
    }
  }
  return { index: 0, start: 0, skippedLines: 0 };
}
