import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';

import { type Ending, type OwnWords } from './story.js';

/** Where a container finds the folder it writes to. */
export const FOLDER_INSIDE = '/podloop';

/** A shell script that writes its start and, where it can know it, its end and exit code to files named by `key`. */
export function containerScript(key: string, ending: Ending): string {
  const file = `${FOLDER_INSIDE}/${key}`;
  const finish = (code: number): string => `echo ${code} > ${file}.end; exit ${code}`;
  const start = `echo > ${file}.start`;
  switch (ending.by) {
    case 'exit':
      return `${start}; sleep ${(ending.afterMs / 1000).toFixed(3)}; ${finish(ending.code)}`;
    case 'term':
      // The trap first: a first process without one is deaf to TERM.
      return `trap '${finish(ending.code)}' TERM; ${start}; sleep 100000 & wait`;
    case 'stop':
    case 'kill':
      return `${start}; exec sleep 100000`;
  }
}

/** Reads what the container of that key wrote into the folder. */
export async function readOwnWords(folder: string, key: string): Promise<OwnWords> {
  const start = await stat(path.join(folder, `${key}.start`)).catch(() => undefined);
  const end = await stat(path.join(folder, `${key}.end`)).catch(() => undefined);
  const text = end === undefined ? '' : (await readFile(path.join(folder, `${key}.end`), 'utf8')).trim();
  return {
    startMs: start?.mtimeMs,
    endMs: end?.mtimeMs,
    // Cut off between opening the file and writing: it did not get to its exit either.
    exitCode: text === '' ? undefined : Number(text),
  };
}
