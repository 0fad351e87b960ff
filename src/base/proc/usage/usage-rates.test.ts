import { expect, it } from 'vitest';
import { UsageRates } from './usage-rates.js';

const CORE = 1_000_000_000n;

it('starts with the average since the start', () => {
  const rates = new UsageRates();
  expect(rates.compute('a', 5n * CORE, 60_000, 10_000)).toBe(CORE / 2n);
});

it('continues with the time since an earlier call', () => {
  const rates = new UsageRates();
  rates.compute('a', 0n, 0, 100_000);
  expect(rates.compute('a', 2n * CORE, 1_000, 0)).toBe(2n * CORE);
  expect(rates.compute('a', 2n * CORE, 11_000, 0)).toBe(0n);
});

it('uses no window of less than a second, however often it is called', () => {
  const rates = new UsageRates();
  rates.compute('a', 0n, 10_000, 10_000);
  rates.compute('a', CORE, 11_000, 0);
  // A quarter of a second of full use after a second of full use, and so on.
  expect(rates.compute('a', CORE + CORE / 4n, 11_250, 0)).toBe(CORE);
  expect(rates.compute('a', CORE + CORE / 4n, 11_999, 0)).toBe(625_312_656n);
  expect(rates.compute('a', CORE + CORE / 4n, 12_000, 0)).toBe(CORE / 4n);
});

it('starts with the first call for something of unknown age, and knows nothing before a second has passed', () => {
  const rates = new UsageRates();
  for (const ageMs of [undefined, 0, -5]) {
    const key = String(ageMs);
    expect(rates.compute(key, 9n * CORE, 10_000, ageMs)).toBeUndefined();
    expect(rates.compute(key, 9n * CORE + 1n, 10_500, ageMs)).toBeUndefined();
    expect(rates.compute(key, 10n * CORE, 11_000, ageMs)).toBe(CORE);
    expect(rates.compute(key, 10n * CORE, 11_500, ageMs)).toBe((2n * CORE) / 3n + 1n);
    // A new one under an old name.
    expect(rates.compute(key, 5n * CORE, 20_000, ageMs)).toBeUndefined();
    expect(rates.compute(key, 5n * CORE, 20_900, ageMs)).toBeUndefined();
  }
});

it('starts over when the counter went back, and knows no usage for no time', () => {
  const rates = new UsageRates();
  rates.compute('a', 9n * CORE, 10_000, 10_000);
  expect(rates.compute('a', CORE, 20_000, 4_000)).toBe(CORE / 4n);
  expect(rates.compute('b', 0n, 20_000, 0)).toBeUndefined();
});

it('forgets keys that nobody asks for', () => {
  const rates = new UsageRates();
  rates.compute('a', CORE, 3_600_000, 10_000);
  rates.compute('b', 0n, 3_600_000 * 2, 10_000);
  rates.compute('b', 0n, 3_600_000 * 3, 10_000);
  expect(rates.compute('a', CORE, 3_600_000 * 3, 2_000)).toBe(CORE / 2n);
});
