import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findOpenBelow } from '#support/find-open-below.js';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { podFinder } from './list-pods.js';
import { readPodLog } from './pod-log.js';
import { WatchPlaces } from '../http/watch-answer.js';

let podLogsDir: string;
let places: WatchPlaces;

beforeEach(async () => {
  podLogsDir = await mkdtemp(join(tmpdir(), 'podloop-pod-log-'));
  const place = join(podLogsDir, 'default_web_uid-web/main');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, '0.log'), '2026-01-02T03:04:05Z stdout F hello\n');
});
afterEach(async () => rm(podLogsDir, { recursive: true }));

/** Follows the log of the one container that there is. */
async function follow(): Promise<AsyncIterator<string | Uint8Array>> {
  const scene = new ServedPodsHarness();
  scene.set({ name: 'web' });
  const clock = new FakeClock();
  places = new WatchPlaces({ clock, limit: 1 });
  const handler = readPodLog({
    ...{ clock, places, findPod: podFinder(scene.table) },
    logs: { podLogsDir, find: () => ({ logPath: '', isWritten: true }) },
  });
  const answer = await handler({
    ...{ method: 'GET', path: '/', headers: {}, signal: new AbortController().signal },
    ...{ params: { namespace: 'default', name: 'web' }, query: new URLSearchParams('follow=true') },
    readBody: async () => undefined,
  });
  if (answer.kind !== 'stream') throw new Error(`it is ${answer.kind}`);
  return answer.pieces[Symbol.asyncIterator]();
}

it.each([
  [1, 'before the first line', ['']],
  [2, 'at a line', ['', 'hello\n']],
])('keeps nothing open for a follower who goes after %d pieces, %s', async (count, _when, expected) => {
  const pieces = await follow();
  const got: string[] = [];
  while (got.length < count) got.push(String((await pieces.next()).value));
  expect(got).toEqual(expected);
  expect(places.taken).toBe(1);
  expect(await findOpenBelow(podLogsDir)).not.toEqual([]);
  await pieces.return?.();
  expect(await findOpenBelow(podLogsDir)).toEqual([]);
  expect(places.taken).toBe(0);
});
