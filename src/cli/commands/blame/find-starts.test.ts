import { expect, it } from 'vitest';
import { type HistoryRecord } from '../../shared/history/history-reader.js';
import { findStarts } from './find-starts.js';

const web = { uid: 'u1', namespace: 'default', name: 'web-n1' };
let number = 0;
const record = (atMs: number, reason: string, more: Partial<HistoryRecord> = {}): HistoryRecord => ({
  ...{ id: `${atMs}-${++number}`, atMs, kind: 'event', type: 'Normal', reason, message: '' },
  ...{ pod: web, ...more },
});
const main = { container: 'main' };
const details = { calls: ['RunPodSandbox'], callTimes: ['300+500'], durationMs: 2_900 };
const START: readonly HistoryRecord[] = [
  record(800, 'Pulling', main),
  record(2_800, 'Pulled', main),
  record(2_850, 'Created', main),
  record(3_000, 'Started', main),
  record(3_010, 'Synced', { kind: 'sync', details: { ...details, arrivedAtMs: 100, workedAtMs: 150 } }),
  record(4_000, 'StartupSucceeded', { ...main, kind: 'probe' }),
  record(9_000, 'ReadinessSucceeded', { ...main, kind: 'probe' }),
];
const stepsOf = (records: readonly HistoryRecord[], nowMs = 20_000) =>
  findStarts(records, nowMs)[0]?.steps.map(({ step, durationMs }) => `${step} ${durationMs}`);

it('has every step of a start, the longest first', () => {
  expect(stepsOf(START)).toEqual([
    ...['readiness-probe 5000', 'pull 2000', 'startup-probe 1000', 'sandbox 500', 'volumes 150'],
    ...['start 150', 'admission 50', 'create 50'],
  ]);
  expect(findStarts(START, 20_000)[0]).toMatchObject({ fromMs: 100, durationMs: 8_900 });
});

it('leaves out restarts of containers, and starts before the newest', () => {
  const again = [record(10_000, 'Created', main), record(10_900, 'Started', main)];
  const before = [record(10, 'Pulling', main), record(20, 'Created', main), record(90, 'Started', main)];
  expect(stepsOf([...before, ...START, ...again])).toEqual(stepsOf(START));
});

it('counts events that earlier starts had, too', () => {
  const before = [record(-900, 'Pulling', main), record(-800, 'Pulled', main), record(-500, 'Created', main)];
  const repeats = START.map((each) =>
    each.kind === 'event' ? { ...each, firstAtMs: each.atMs - 4_000 } : each,
  );
  expect(stepsOf([...before, ...repeats])).toEqual(stepsOf(START));
});

it('shows how long a pull has lasted that has not ended', () => {
  expect(stepsOf(START.slice(0, 1), 5_800)).toEqual(['pull 5000']);
});

it('counts the time in which a ConfigMap is missing as create, and not as pull', () => {
  const failed = record(9_000, 'Failed', { ...main, firstAtMs: 2_810, type: 'Warning' });
  const pulled = record(9_001, 'Pulled', { ...main, firstAtMs: 4_000 });
  const waiting = [...START.slice(0, 2), failed, pulled];
  expect(stepsOf(waiting, 10_800)).toEqual(['create 8000', 'pull 2000']);
  expect(findStarts(waiting, 10_800)[0]?.steps[0]).toMatchObject({ step: 'create', isOpen: true });
  const created = [...waiting, record(9_800, 'Created', main), record(10_000, 'Started', main)];
  expect(stepsOf(created)).toEqual(['create 7000', 'pull 2000', 'start 200']);
  // The image is asked for again at each attempt.
  const again = record(9_001, 'Pulled', { ...main, firstAtMs: 2_800 });
  expect(stepsOf([START[0]!, failed, again], 10_800)).toEqual(['create 8000', 'pull 2000']);
});

it('puts the slowest pod first, and knows nothing of pods that did not start', () => {
  const other = { uid: 'u2', namespace: 'default', name: 'slow-n1' };
  const third = { uid: 'u3', namespace: 'default', name: 'third-n1' };
  const records = [
    ...START,
    record(0, 'Pulling', { ...main, pod: other }),
    record(5, 'Killing', { pod: third }),
  ];
  expect(findStarts(records, 20_000).map(({ name }) => name)).toEqual(['slow-n1', 'web-n1']);
});
