import { expect, it } from 'vitest';
import { EventRates } from './event-rates.js';

it('tells events a second between two reports, of all types and of each', () => {
  const rates = new EventRates();
  rates.add({ forMs: 10_000, events: { ContainerStarted: 20 } });
  rates.add({ forMs: 12_000, events: { ContainerStarted: 20, ContainerDied: 6 } });
  expect(rates.history).toEqual([2, 3]);
  expect(rates.byType).toEqual({ ContainerStarted: 0, ContainerDied: 3 });
});

it('begins anew with an agent that was started anew, and takes no notice of the same report twice', () => {
  const rates = new EventRates();
  rates.add({ forMs: 100_000, events: { ContainerDied: 1_000 } });
  rates.add({ forMs: 2_000, events: { ContainerDied: 4 } });
  rates.add({ forMs: 2_000, events: { ContainerDied: 4 } });
  expect(rates.history).toEqual([10, 2]);
});

it('remembers two minutes and no more', () => {
  const rates = new EventRates();
  for (let second = 1; second <= 500; second++) rates.add({ forMs: second * 1_000, events: {} });
  expect(rates.history).toHaveLength(120);
});
