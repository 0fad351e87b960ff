import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { LogRecorder } from '../testing/log-recorder.js';
import { PulledImages } from './pulled-images.js';
import { recordRemovals } from './record-removals.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-removals-'));
  path = join(folder, 'pulled.json');
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Other records, which say what they were told. */
function others() {
  const told: string[] = [];
  const records = {
    keepOnly: async () => void told.push('all'),
    forget: async (id: string, sinceMs: number) => void told.push(`no ${id} since ${sinceMs}`),
  };
  return { told, records };
}

describe('an image that was removed', () => {
  it('is none any more that we fetched', async () => {
    const clock = new FakeClock();
    const pulled = await PulledImages.open(path, clock);
    for (const id of ['a', 'b']) await pulled.add(id, clock.now());
    await clock.advance(60_000);
    const { told, records } = others();
    const sinceMs = clock.monotonicMs();
    const both = recordRemovals({ records, pulled, clock });
    await both.forget('a', sinceMs);
    await both.forget('unknown', sinceMs);
    await both.keepOnly([], sinceMs);
    expect(told).toEqual([`no a since ${sinceMs}`, `no unknown since ${sinceMs}`, 'all']);
    const kept = await PulledImages.open(path, clock);
    for (const record of [pulled, kept]) expect([record.has('a'), record.has('b')]).toEqual([false, true]);
  });

  it('is ours where it was fetched again since', async () => {
    const clock = new FakeClock();
    const pulled = await PulledImages.open(path, clock);
    const sinceMs = clock.monotonicMs();
    await clock.advance(1_000);
    await pulled.add('a', clock.now());
    await clock.advance(1_000);
    await recordRemovals({ records: others().records, pulled, clock }).forget('a', sinceMs);
    expect(pulled.has('a')).toBe(true);
  });

  it('does not come back as ours with a look that shows it once more', async () => {
    const clock = new FakeClock();
    const pulled = await PulledImages.open(path, clock);
    for (const id of ['a', 'b']) await pulled.add(id, clock.now());
    await clock.advance(60_000);
    const nothing = { inUse: new Set<string>(), nowMs: clock.now() };
    await pulled.observe({ ...nothing, known: pulled.all(), present: new Set(['b']) });
    await recordRemovals({ records: others().records, pulled, clock }).forget('a', clock.monotonicMs());
    await pulled.observe({ ...nothing, known: pulled.all(), present: new Set(['a', 'b']) });
    expect([pulled.has('a'), pulled.has('b')]).toEqual([false, true]);
  });

  it('was removed although that cannot be written', async () => {
    const log = new LogRecorder();
    const full = { forget: async () => Promise.reject(new Error('disk is full')) };
    const { told, records } = others();
    const both = recordRemovals({ records, pulled: full, clock: new FakeClock(), logger: log });
    await both.forget('a', 0);
    expect(told).toEqual(['no a since 0']);
    expect(log.complaints).toMatchObject([{ fields: { imageID: 'a' } }]);
  });
});
