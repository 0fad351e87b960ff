import { expect, it } from 'vitest';
import { formatRfc3339 } from './rfc3339.js';

it('writes nine digits after the point', () => {
  expect(formatRfc3339(1_136_214_245_000_000_007n)).toBe('2006-01-02T15:04:05.000000007Z');
  expect(formatRfc3339(1_136_214_245_999_999_999n)).toBe('2006-01-02T15:04:05.999999999Z');
});
