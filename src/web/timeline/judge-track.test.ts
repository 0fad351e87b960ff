import { expect, it } from 'vitest';
import { type JournalEntry } from '../data/journal-entry.js';
import { judgeTrack } from './judge-track.js';
import { Tracks } from './tracks.js';

const pod = { uid: 'u1', namespace: 'default', name: 'web' };

function lifecycle(
  atMs: number,
  reason: string,
  containerKind: string,
  more: Record<string, unknown> = {},
): JournalEntry {
  const details = { containerId: containerKind, containerKind, ...more };
  const container = containerKind === 'container' ? { container: 'main' } : {};
  return {
    id: `${atMs}-1`,
    atMs,
    kind: 'lifecycle',
    type: 'Normal',
    reason,
    message: '',
    pod,
    ...container,
    details,
  };
}

function tracksOf(...entries: JournalEntry[]): Tracks {
  const tracks = new Tracks();
  for (const each of entries) tracks.add(each);
  return tracks;
}

const tracks = tracksOf(
  lifecycle(10, 'ContainerStarted', 'sandbox'),
  lifecycle(20, 'ContainerStarted', 'container'),
  lifecycle(30, 'ContainerDied', 'container', { exitCode: 137, containerReason: 'OOMKilled' }),
  lifecycle(40, 'ContainerStarted', 'container', { containerId: 'second' }),
  lifecycle(50, 'ContainerDied', 'container', { containerId: 'second', exitCode: 0 }),
  lifecycle(60, 'ContainerDied', 'sandbox'),
);
const track = tracks.byKey.get('u1')!;

it.each([
  [5, undefined],
  [15, { word: 'Starting', tone: 'info' }],
  [25, { word: 'Running', tone: 'ok' }],
  [35, { word: 'exit 137 OOMKilled', tone: 'bad' }],
  [45, { word: 'Running', tone: 'ok' }],
  [55, { word: 'Completed', tone: 'quiet' }],
  [65, undefined],
])('shows the pod as it was, at %d', (atMs, verdict) => {
  expect(judgeTrack(track, atMs)).toEqual(verdict);
});

it('shows a call that hangs before anything else', () => {
  const hang: JournalEntry = {
    ...{ id: '26-1', atMs: 26, kind: 'call', type: 'Warning', reason: 'CallHangs', message: '', pod },
    details: { method: 'ContainerStatus', forMs: 4 },
  };
  const stuck = tracksOf(lifecycle(20, 'ContainerStarted', 'container'), hang).byKey.get('u1')!;
  expect(judgeTrack(stuck, 21)).toEqual({ word: 'Running', tone: 'ok' });
  expect(judgeTrack(stuck, 23)).toEqual({ word: 'ContainerStatus hangs', tone: 'bad' });
});
