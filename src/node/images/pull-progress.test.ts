import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/index.js';
import { PullProgress, type RuntimePull } from './pull-progress.js';

const WEB = { pod: { uid: 'w', namespace: 'default', name: 'web' }, container: 'main', wanted: 'nginx' };
let clock: FakeClock;
let pulls: readonly RuntimePull[];
let asked: number;
let shown: string[];
let events: string[];
let progress: PullProgress;

beforeEach(() => {
  clock = new FakeClock();
  [pulls, asked, shown, events] = [[], 0, [], []];
  progress = open(() => {
    asked++;
    return Promise.resolve(pulls);
  });
});
afterEach(() => progress.close());

function open(listPulls: ((signal: AbortSignal) => Promise<readonly RuntimePull[]>) | undefined) {
  return new PullProgress({
    ...{ listPulls, clock },
    show: (uid, container, message) => void shown.push(`${uid}/${container}: ${message}`),
    events: { record: (_, { reason, message }) => void events.push(`${reason}: ${message}`) },
  });
}

const aPull = (fetched: number, unpacked = 0): RuntimePull => ({
  image: 'docker.io/library/nginx:latest',
  layers: [
    { size: 200e6, fetched, unpacked },
    { size: 66e6, fetched: 66e6, unpacked: unpacked > 0 ? 66e6 : 0 },
  ],
});

it('shows how far a pull is with the container that waits for it, then how far its unpacking is', async () => {
  const end = progress.begin(WEB);
  await clock.advance(1_000);
  expect(shown).toEqual([]);
  pulls = [aPull(54e6)];
  await clock.advance(1_000);
  expect(progress.bytes).toEqual({ pulls: 1, fetched: 120e6, total: 266e6 });
  pulls = [aPull(200e6, 67e6)];
  await clock.advance(1_000);
  expect(shown).toEqual(['w/main: Pulling 45% (120/266 MB)', 'w/main: Unpacking 50% (133/266 MB)']);
  end();
  await clock.advance(1_000);
  expect(progress.bytes).toEqual({ pulls: 0, fetched: 0, total: 0 });
});

it('asks only while somebody waits, and counts a pull of several pods once', async () => {
  await clock.advance(10_000);
  expect(asked).toBe(0);
  pulls = [aPull(54e6)];
  const ends = [progress.begin(WEB), progress.begin({ ...WEB, container: 'side' })];
  await clock.advance(1_000);
  expect(progress.bytes).toEqual({ pulls: 2, fetched: 120e6, total: 266e6 });
  expect(shown).toHaveLength(2);
  for (const end of ends) end();
  await clock.advance(10_000);
  expect(asked).toBe(1);
  progress.begin(WEB)();
  progress.begin(WEB);
  await clock.advance(1_000);
  expect(asked).toBe(2);
});

it('records events ever more rarely', async () => {
  progress.begin(WEB);
  for (let second = 1; second <= 900; second++) {
    pulls = [aPull(second * 1e5)];
    await clock.advance(1_000);
  }
  // After 15, 45, 105, 225, 465 and 705 seconds.
  expect(events).toHaveLength(6);
  expect(events[0]).toBe('Pulling: Pulling image "nginx": 25% (68/266 MB)');
});

it('shows nothing where the runtime does not answer, or says nothing', async () => {
  let isAborted = false;
  const hung = open(
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          isAborted = true;
          reject(new Error('late'));
        });
      }),
  );
  hung.begin(WEB);
  await clock.advance(1_000);
  await clock.advance(5_000);
  expect(isAborted).toBe(true);
  await hung.close();
  const silent = open(undefined);
  silent.begin(WEB);
  await clock.advance(10_000);
  expect([shown, silent.bytes.pulls]).toEqual([[], 1]);
});
