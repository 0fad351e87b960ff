import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { CreationTimes } from './creation-times.js';

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'podloop-created-'))));
afterEach(async () => rm(folder, { recursive: true }));

const clock = new FakeClock();
const open = async () => CreationTimes.open({ file: join(folder, 'created.json'), clock });

it('a pod came when it was first seen, also for the next agent, until it has gone', async () => {
  const first = await open();
  const cameMs = first.getMs('web');
  await clock.advance(5_000);
  expect(first.getMs('web')).toBe(cameMs);
  await first.flush();
  const next = await open();
  expect(next.getMs('web', 17)).toBe(cameMs);
  expect(next.getMs('new', 17)).toBe(clock.now());
  next.forget('web');
  await next.flush();
  expect((await open()).getMs('web')).toBe(clock.now());
});

it('a pod that ran before anybody wrote down when came when it started', async () => {
  expect((await open()).getMs('web', 17)).toBe(17);
  await writeFile(join(folder, 'created.json'), 'garbage');
  expect((await open()).getMs('web', 17)).toBe(17);
});

it('changes are written soon, together', async () => {
  const times = await open();
  const cameMs = times.getMs('a');
  times.getMs('b');
  await clock.advance(100);
  await times.flush();
  await clock.advance(1_000);
  expect((await open()).getMs('a')).toBe(cameMs);
});
