import { countLines, findTail } from './find-tail.js';
import { gunzip } from './log-blocks.js';
import { type LogFile, type LogFolder } from './log-folder.js';

/** Where the last lines of a log begin. */
export interface TailPlace {
  /** The file's place in the list. */
  readonly index: number;
  /** Offset in it. */
  readonly start: number;
  /** Lines of a compressed file that are passed over. */
  readonly skippedLines: number;
}

/** Finds where the last `wanted` lines of all files together begin; the first of the files is the oldest. */
export async function findTailPlace(
  folder: LogFolder,
  files: readonly LogFile[],
  wanted: number,
): Promise<TailPlace> {
  let left = wanted;
  for (let index = files.length - 1; index >= 0; index--) {
    const { name, isCompressed } = files[index]!;
    await using file = await folder.openFile(name);
    if (file === undefined) continue;
    if (isCompressed) {
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
