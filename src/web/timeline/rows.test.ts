import { expect, it } from 'vitest';
import { type JournalEntry } from '../data/journal-entry.js';
import { countIn, findProblems, itemsOf, layOutRows, timeOf } from './rows.js';
import { Tracks } from './tracks.js';

let number = 0;

function anEntry(atMs: number, kind: string, reason: string, more: Partial<JournalEntry> = {}): JournalEntry {
  const pod = { uid: 'u1', namespace: 'default', name: 'db' };
  return {
    ...{ id: `${atMs}-${number++}`, atMs, kind, reason, type: 'Normal', message: '', pod },
    ...{ container: 'main', ...more },
  };
}

function rowsOf(...entries: readonly JournalEntry[]) {
  const tracks = new Tracks();
  for (const entry of entries) tracks.add(entry);
  return layOutRows(tracks, { judge: () => undefined }, { text: '', onlyTrouble: false });
}

const hang = { type: 'Warning', details: { method: 'ContainerStatus', forMs: 20_000 } };
const rows = rowsOf(
  anEntry(10_000, 'probe', 'ReadinessFailed', { type: 'Warning' }),
  anEntry(50_000, 'call', 'CallHangs', hang),
  anEntry(55_000, 'probe', 'ReadinessSucceeded'),
  anEntry(90_000, 'call', 'CallReturned', hang),
);

it('lists what went wrong in a part of time: warnings, and what lasted into it', () => {
  const within = (fromMs: number, toMs: number) =>
    findProblems(rows, { fromMs, toMs }).map(({ row, atMs, item }) => [
      ...[row.label, atMs, 'atMs' in item ? item.entry.reason : item.label],
    ]);
  expect(within(0, 100_000)).toEqual([
    ['db', 10_000, 'ReadinessFailed'],
    ['db', 30_000, 'ContainerStatus hangs'],
  ]);
  expect(within(60_000, 70_000)).toEqual([['db', 30_000, 'ContainerStatus hangs']]);
  expect(within(91_000, 99_000)).toEqual([]);
});

it('counts as many warnings as it lists', () => {
  for (const [fromMs, toMs] of [
    [0, 100_000],
    [60_000, 70_000],
    [91_000, 99_000],
  ] as const)
    expect(countIn(rows, { fromMs, toMs }).warnings).toBe(findProblems(rows, { fromMs, toMs }).length);
});

it('has a row for a workload, which is no pod that is gone', () => {
  const pod = { uid: 'd1', namespace: 'shop', name: 'web' };
  const about = { pod, about: { kind: 'Deployment' } };
  const { container: _, ...entry } = anEntry(10_000, 'event', 'ScalingReplicaSet', about);
  const [, row] = rowsOf(entry);
  expect(row).toMatchObject({ kind: 'workload', label: 'web', more: 'Deployment in shop', tone: 'quiet' });
  expect(row!.lanes[0]!.marks).toHaveLength(1);
});

it('steps through what happened in a row by time, without its syncs', () => {
  const [, row] = rowsOf(
    anEntry(50_000, 'call', 'CallHangs', hang),
    anEntry(45_000, 'probe', 'ReadinessFailed', { type: 'Warning' }),
    anEntry(60_000, 'sync', 'Synced', { details: { durationMs: 10 } }),
  );
  expect(itemsOf(row!).map(timeOf)).toEqual([30_000, 45_000]);
});
