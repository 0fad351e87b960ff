import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type SourceConfigObject } from '../../desired/config-objects.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ObjectTimes } from './object-times.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-times-'))));
afterEach(() => rm(folder, { recursive: true }));

const of = (source: string, name: string): SourceConfigObject => ({
  source,
  object: {
    ...{ kind: 'ConfigMap', metadata: { name, namespace: 'default' } },
    ...{ data: new Map(), binaryData: new Map() },
  },
});

it('an object has the time at which it came, over restarts, until its source has it no more', async () => {
  const clock = new FakeClock();
  const file = join(folder, 'times.json');
  const first = await ObjectTimes.open({ file, clock });
  const [own, other] = [of('file', 'a'), of('http', 'a')];
  first.update([own, other]);
  const cameAtMs = clock.now();
  await first.flush();
  clock.jumpWallClock(60_000);

  const next = await ObjectTimes.open({ file, clock });
  // The other source has not been heard of yet.
  next.update([own]);
  expect([next.getMs(own), next.getMs(other)]).toEqual([cameAtMs, cameAtMs]);
  next.update([other]);
  expect([next.getMs(own), next.getMs(other)]).toEqual([cameAtMs + 60_000, cameAtMs]);
});

it('an object that went while no agent ran, and was the last of its source, is another one when it comes back', async () => {
  const clock = new FakeClock();
  const file = join(folder, 'times.json');
  const first = await ObjectTimes.open({ file, clock });
  const [gone, kept] = [of('file', 'a'), of('http', 'a')];
  first.update([gone, kept]);
  const cameAtMs = clock.now();
  await first.flush();
  clock.jumpWallClock(60_000);

  const next = await ObjectTimes.open({ file, clock });
  next.settle(() => [kept]);
  next.settle(() => []);
  expect(next.getMs(kept)).toBe(cameAtMs);
  next.update([gone, kept]);
  expect([next.getMs(gone), next.getMs(kept)]).toEqual([cameAtMs + 60_000, cameAtMs]);
});
