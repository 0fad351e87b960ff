import { expect, it } from 'vitest';
import { findPageSize, readPageSize } from './page-size.js';

it('is a power of two on this machine', async () => {
  const size = await readPageSize();
  expect(size).toBeGreaterThanOrEqual(4_096);
  expect(size & (size - 1)).toBe(0);
});

it('is unknown if the kernel does not report it', () => {
  const pairs = new BigUint64Array([3n, 6n, 5n, 9n]);
  expect(findPageSize(Buffer.from(pairs.buffer))).toBeUndefined();
  expect(findPageSize(Buffer.from(new BigUint64Array([3n, 6n, 6n, 65_536n]).buffer))).toBe(65_536);
  expect(findPageSize(Buffer.from('cut'))).toBeUndefined();
});
