import { PerformanceObserver } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { MemoryOverTime } from './memory-over-time.js';

it('samples what is resident, and what lives after a full collection', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  using memory = new MemoryOverTime();
  memory.sample();
  collect();
  await untilTrue(() => memory.live.length > 0);
  const [resident, heap, live] = [memory.resident[0]!, memory.heap[0]!, memory.live[0]!];
  expect(resident.value).toBeGreaterThan(heap.value);
  expect(live.value).toBeGreaterThan(1);
  expect(live.atS).toBeGreaterThanOrEqual(resident.atS);
});

it('takes no collection of young objects for a full one', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  using memory = new MemoryOverTime();
  let seen = 0;
  // Made after the other, and told after it.
  const observer = new PerformanceObserver((entries) => void (seen += entries.getEntries().length));
  observer.observe({ entryTypes: ['gc'] });
  collect({ type: 'minor' });
  await untilTrue(() => seen > 0);
  observer.disconnect();
  expect(memory.live).toEqual([]);
});
