import { expect, it } from 'vitest';
import { explainTooLong, findTooLong } from './argument-limits.js';

const config = (...sizes: number[]) => ({
  envs: sizes.map((size, index) => ({ key: `V${index}`, value: Buffer.alloc(size, 'x') })),
  command: ['sh'],
  args: ['-c', 'ä'],
});
const PAGE = 4_096;

it('names the variable that is too big by itself, with its name and its end', () => {
  expect(findTooLong(config(5, 131_068), PAGE)).toBeUndefined();
  expect(findTooLong(config(5, 131_069), PAGE)).toBe(
    'variable V1 has 131073 bytes, and Linux takes 131072 for one; mount large values as files',
  );
  expect(findTooLong(config(5, 131_069), 16 * PAGE)).toBeUndefined();
});

it('names an argument that is too big', () => {
  const args = ['x'.repeat(131_072)];
  expect(findTooLong({ ...config(), args }, PAGE)).toContain('argument 1 has 131073 bytes');
});

it('counts all of them together', () => {
  const many = config(...Array.from({ length: 70 }, () => 100_000));
  expect(findTooLong(many, PAGE)).toBe(
    'variables and arguments have 7000349 bytes together, the largest is variable V10 with 100005; Linux takes 6291456; mount large values as files',
  );
});

it('explains an error of the runtime that may come of it, and no other', () => {
  expect(explainTooLong('exec /bin/sh: argument list too long', config(5, 7))).toBe(
    'exec /bin/sh: argument list too long: variables and arguments have 29 bytes together, the largest is variable V1 with 11; mount large values as files',
  );
  expect(explainTooLong('spawn E2BIG', config())).toContain('the largest is argument 0 with 3');
  expect(explainTooLong('no such file', config(140_000))).toBe('no such file');
});
