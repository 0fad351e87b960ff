import { expect, it } from 'vitest';
import { type JournalEntry } from '../data/journal-entry.js';
import { type PodObject } from '../data/shown-pod.js';
import { Tracks } from './tracks.js';

const pod = { uid: 'u1', namespace: 'default', name: 'web' };
let number = 0;
const entry = (
  atMs: number,
  kind: string,
  reason: string,
  more: Partial<JournalEntry> = {},
): JournalEntry => ({
  ...{ id: `${atMs}-${++number}`, atMs, kind, type: 'Normal', reason, message: '', pod, container: 'main' },
  ...more,
});
const started = (atMs: number, containerId: string): JournalEntry =>
  entry(atMs, 'lifecycle', 'ContainerStarted', { details: { containerId, containerKind: 'container' } });
const died = (atMs: number, containerId: string, exitCode: number, containerReason = 'Error'): JournalEntry =>
  entry(atMs, 'lifecycle', 'ContainerDied', {
    type: exitCode === 0 ? 'Normal' : 'Warning',
    details: { containerId, containerKind: 'container', exitCode, containerReason },
  });

function tracksOf(...entries: JournalEntry[]): Tracks {
  const tracks = new Tracks();
  for (const each of entries) tracks.add(each);
  return tracks;
}

const laneOf = (tracks: Tracks, name = 'main') => tracks.byKey.get('u1')!.containers.get(name)!;
const spansOf = (tracks: Tracks) =>
  laneOf(tracks).spans.map(({ kind, tone, fromMs, toMs, label }) => [kind, tone, fromMs, toMs, label]);

it('has the life of a container from its start to its end', () => {
  const tracks = tracksOf(started(100, 'a'), died(200, 'a', 1), started(300, 'b'));
  expect(spansOf(tracks)).toEqual([
    ['run', 'bad', 100, 200, 'exit 1'],
    ['run', 'ok', 300, undefined, 'running'],
  ]);
  expect(laneOf(tracks).marks.map(({ kind }) => kind)).toEqual(['died']);
});

it('says why a container ended, and is calm about exit code 0', () => {
  const tracks = tracksOf(
    started(1, 'a'),
    died(2, 'a', 137, 'OOMKilled'),
    started(3, 'b'),
    died(4, 'b', 0, 'Completed'),
  );
  expect(spansOf(tracks).map(([, tone, , , label]) => [tone, label])).toEqual([
    ['bad', 'exit 137 OOMKilled'],
    ['quiet', 'exit 0'],
  ]);
});

it('begins at the left what began before the first record', () => {
  expect(spansOf(tracksOf(died(200, 'a', 0)))).toEqual([['run', 'quiet', -Infinity, 200, 'exit 0']]);
});

it('takes from the status of a pod what no record has, once', () => {
  const at = (ms: number): string => new Date(ms).toISOString();
  const shown: PodObject = {
    metadata: pod,
    status: {
      containerStatuses: [
        {
          ...{ name: 'main', containerID: 'containerd://b', state: { running: { startedAt: at(5_000) } } },
          lastState: {
            terminated: {
              containerID: 'containerd://a',
              exitCode: 2,
              startedAt: at(1_000),
              finishedAt: at(4_000),
            },
          },
        },
      ],
    },
  };
  const tracks = new Tracks();
  tracks.seed([shown]);
  tracks.seed([shown]);
  expect(spansOf(tracks)).toEqual([
    ['run', 'bad', 1_000, 4_000, 'exit 2'],
    ['run', 'ok', 5_000, undefined, 'running'],
  ]);
  tracks.add(died(6_000, 'b', 0));
  expect(spansOf(tracks)[1]).toEqual(['run', 'quiet', 5_000, 6_000, 'exit 0']);
  const known = tracksOf(died(4_000, 'a', 2));
  known.seed([shown]);
  expect(spansOf(known)[0]).toEqual(['run', 'bad', 1_000, 4_000, 'exit 2']);
});

it('has pulls, and those that failed', () => {
  const tracks = tracksOf(
    ...[entry(1, 'event', 'Pulling'), entry(2, 'event', 'Failed', { type: 'Warning' })],
    ...[entry(3, 'event', 'Pulling'), entry(9, 'event', 'Pulled')],
  );
  expect(spansOf(tracks)).toEqual([
    ['pull', 'bad', 1, 2, 'pull'],
    ['pull', 'info', 3, 9, 'pull'],
  ]);
});

it('ends a pull at the start of its container, and takes no repeated pulls for one', () => {
  const tracks = tracksOf(entry(1, 'event', 'Pulling'), started(5, 'a'), died(6, 'a', 1));
  tracks.add(entry(90, 'event', 'Pulling', { count: 4, firstAtMs: 10 }));
  expect(spansOf(tracks).map(([kind, , from, to]) => [kind, from, to])).toEqual([
    ['pull', 1, 5],
    ['run', 5, 6],
  ]);
});

it('has a call that hangs from its begin to its answer', () => {
  const call = { method: 'ContainerStatus', containerId: 'a' };
  const hangs = entry(20_000, 'call', 'CallHangs', { type: 'Warning', details: { ...call, forMs: 10_000 } });
  const tracks = tracksOf(hangs);
  expect(spansOf(tracks)).toEqual([['hang', 'bad', 10_000, undefined, 'ContainerStatus hangs']]);
  tracks.add(entry(60_000, 'call', 'CallReturned', { details: { ...call, durationMs: 50_000 } }));
  tracks.add(entry(70_000, 'call', 'SlowCall', { details: { ...call, durationMs: 2_000 } }));
  expect(spansOf(tracks).map(([kind, , from, to]) => [kind, from, to])).toEqual([
    ['hang', 10_000, 60_000],
    ['call', 68_000, 70_000],
  ]);
});

it('has what is wrong with the node for as long as it lasts', () => {
  const of = { pod: undefined, container: undefined } as unknown as Partial<JournalEntry>;
  const tracks = tracksOf(
    entry(1, 'health', 'Unhealthy', { ...of, type: 'Warning' }),
    entry(5, 'health', 'Healthy', of),
    entry(6, 'finding', 'CallHangs', {
      ...of,
      type: 'Warning',
      details: { state: 'began', severity: 'critical' },
    }),
    entry(9, 'finding', 'CallHangs', { ...of, details: { state: 'ended', beganAtMs: 6 } }),
    entry(10, 'agent', 'AgentStopped', of),
    entry(20, 'agent', 'AgentStarted', of),
  );
  expect(tracks.node.lane.spans.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
    ['trouble', 1, 5],
    ['trouble', 6, 9],
    ['gap', 10, 20],
  ]);
});

it('shows a record of a kind that it does not know as a mark', () => {
  const tracks = tracksOf(entry(1, 'weather', 'Rain', { type: 'Warning' }));
  expect(laneOf(tracks).marks).toMatchObject([{ kind: 'node', tone: 'bad' }]);
});
