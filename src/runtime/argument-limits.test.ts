import { expect, it } from 'vitest';
import { explainTooLong } from './argument-limits.js';

const config = (...sizes: number[]) => ({
  envs: sizes.map((size, index) => ({ key: `V${index}`, value: Buffer.alloc(size, 'x') })),
  command: ['sh'],
  args: ['-c', 'ä'],
});

it('names the variable that is too big by itself', () => {
  expect(explainTooLong('exec /bin/sh: argument list too long', config(5, 140_000))).toBe(
    'exec /bin/sh: argument list too long: variable V1 has 140004 bytes, and Linux takes 131072 for one; mount large values as files',
  );
});

it('counts all of them where none is', () => {
  const many = config(...Array.from({ length: 30 }, () => 100_000));
  expect(explainTooLong('spawn E2BIG', many)).toContain(
    'variables and arguments have 3000149 bytes together, the largest is variable V10 with 100005',
  );
});

it('names an argument that is too big', () => {
  const long = { ...config(), args: ['x'.repeat(131_072)] };
  expect(explainTooLong('Argument list too long', long)).toContain('argument 1 has 131073 bytes');
});

it('leaves other messages alone', () => {
  expect(explainTooLong('no such file', config(140_000))).toBe('no such file');
});
