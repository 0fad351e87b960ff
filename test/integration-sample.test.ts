import { expect, it } from 'vitest';
import { SAMPLE_PERCENT, sampleFiles } from './integration-sample.js';

const FILES = Array.from({ length: 97 }, (_, index) => `test/integration/${index}.test.ts`);

it('is the same for the same seed, in the order of the files, and of the size that was meant', () => {
  const sample = sampleFiles(FILES, 'one');
  expect(sampleFiles(FILES, 'one')).toEqual(sample);
  expect(sampleFiles(FILES.toReversed(), 'one').toReversed()).toEqual(sample);
  expect(sample).toEqual(FILES.filter((file) => sample.includes(file)));
  expect(sample).toHaveLength(Math.ceil((97 * SAMPLE_PERCENT) / 100));
});

it('leaves no file out for ever', () => {
  const seen = new Set(Array.from({ length: 60 }, (_, seed) => sampleFiles(FILES, `${seed}`)).flat());
  expect(seen.size).toBe(FILES.length);
});

it('takes the one file that there is, and none of none', () => {
  expect(sampleFiles(['a'], 'seed')).toEqual(['a']);
  expect(sampleFiles([], 'seed')).toEqual([]);
});
