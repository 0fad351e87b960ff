/**
 * Which tests of the program CI runs: a share of them by chance, the same ones for the same seed. All of them together
 * take as long as everything else of `npm test`; `npm test` and `npm run test:unit` on their own leave none out.
 *
 * @module
 */
import { createHash } from 'node:crypto';

/** Of the files, in percent. */
export const SAMPLE_PERCENT = 40;

/** The files of a sample, in their order; at least one of any number of files. */
export function sampleFiles(files: readonly string[], seed: string): readonly string[] {
  const drawn = new Map(
    files.map((file) => [file, createHash('sha256').update(`${seed} ${file}`).digest('hex')] as const),
  );
  const count = Math.ceil((files.length * SAMPLE_PERCENT) / 100);
  const chosen = new Set([...files].sort((a, b) => (drawn.get(a)! < drawn.get(b)! ? -1 : 1)).slice(0, count));
  return files.filter((file) => chosen.has(file));
}
