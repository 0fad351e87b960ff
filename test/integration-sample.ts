/**
 * Which tests of the program CI runs: a share of them by chance, the same ones for the same seed. All of them together
 * take as long as everything else of `npm test`; `npm test` and `npm run test:unit` on their own leave none out.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { sampleSpecs } from './e2e/spec-choice.js';

/** Of the files, in percent. */
export const SAMPLE_PERCENT = 40;

/** The files of a sample, in their order; at least one of any number of files. */
export function sampleFiles(files: readonly string[], seed: string): readonly string[] {
  const count = Math.ceil((files.length * SAMPLE_PERCENT) / 100);
  const number = createHash('sha256').update(seed).digest().readUInt32BE(0);
  const chosen = new Set(sampleSpecs([...files].sort(), count, number));
  return files.filter((file) => chosen.has(file));
}
