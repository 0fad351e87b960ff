import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { type SpecResult } from '../critest/spec-report.js';
import { type KeptResult } from './e2e-part.js';
import { specName } from './spec-choice.js';

/** What earlier runs came to; nothing when there is no such file. */
export async function readResults(file: string): Promise<KeptResult[]> {
  const text = await readFile(file, 'utf8').catch(() => '[]');
  return JSON.parse(text) as KeptResult[];
}

/** Of podloop, as it is checked out now; `unknown` in a copy that has no history. */
export async function readCommit(): Promise<string> {
  return promisify(execFile)('git', ['rev-parse', '--short=7', 'HEAD']).then(
    ({ stdout }) => stdout.trim(),
    () => 'unknown',
  );
}

/**
 * Adds results to a file, in the place of older ones of the same specs, with the day.
 *
 * @param about the commit that was run, and the names of specs that had failed beside others.
 */
export async function keepResults(
  file: string,
  results: readonly SpecResult[],
  about: { readonly commit: string; readonly repeated: ReadonlySet<string> },
): Promise<void> {
  const facts = { commit: about.commit, date: new Date().toISOString().slice(0, 10) };
  const byName = new Map((await readResults(file)).map((result) => [specName(result), result]));
  for (const result of results) {
    const name = specName(result);
    byName.set(name, { ...result, ...facts, repeated: about.repeated.has(name) });
  }
  await writeFile(file, `${JSON.stringify([...byName.values()], undefined, 1)}\n`);
}
