import { expect, it } from 'vitest';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { PodEventLog } from './pod-event-log.js';

const WEB = { uid: 'u1', namespace: 'default', name: 'web' };
const DB = { uid: 'u2', namespace: 'default', name: 'db' };
const started: PodEvent = { type: 'Normal', reason: 'Started', message: 'Container started', container: 'c' };
const failed: PodEvent = {
  type: 'Warning',
  reason: 'Failed',
  message: 'Error: no such file',
  container: 'c',
};

it('has the last event at the end, and the same event once with its count', async () => {
  const clock = new FakeClock();
  const log = new PodEventLog({ clock, logger: SILENT_LOGGER });
  log.record(WEB, failed);
  log.record(DB, started);
  await clock.advance(1_000);
  log.record(WEB, failed);
  const fieldPath = 'spec.containers{c}';
  const beforeMs = clock.now() - 1_000;
  expect(log.list()).toEqual([
    { ...started, pod: DB, fieldPath, count: 1, firstAtMs: beforeMs, lastAtMs: beforeMs },
    { ...failed, pod: WEB, fieldPath, count: 2, firstAtMs: beforeMs, lastAtMs: clock.now() },
  ]);
  expect(log.list('u1')).toHaveLength(1);
});

it('forgets the oldest when there are too many, and counts them', () => {
  const log = new PodEventLog({ clock: new FakeClock(), logger: SILENT_LOGGER, capacity: 2 });
  for (const message of ['a', 'b', 'c']) log.record(WEB, { ...failed, message });
  expect(log.list().map((event) => event.message)).toEqual(['b', 'c']);
  expect(log.forgotten).toBe(1);
});

it('logs each event, warnings at the usual verbosity', () => {
  const lines: unknown[] = [];
  const logger = { ...SILENT_LOGGER, info: (...line: unknown[]) => void lines.push(line) };
  const log = new PodEventLog({ clock: new FakeClock(), logger });
  log.record(WEB, failed);
  log.record(WEB, { type: 'Normal', reason: 'Killing', message: 'Stopping' });
  expect(lines).toEqual([
    [
      'Event occurred',
      {
        ...{ object: 'default/web', podUID: WEB.uid },
        ...{ fieldPath: 'spec.containers{c}', kind: 'Pod', apiVersion: 'v1', type: 'Warning' },
        ...{ reason: 'Failed', message: 'Error: no such file' },
      },
      2,
    ],
    ['Event occurred', expect.objectContaining({ fieldPath: undefined, reason: 'Killing' }), 4],
  ]);
});

it('says which kind of container it is about, as long as its pod is there', () => {
  const lines: unknown[] = [];
  const logger = { ...SILENT_LOGGER, info: (_: string, fields: unknown) => void lines.push(fields) };
  const spec = {
    initContainers: [{ name: 'setup', image: 'i' }],
    ephemeralContainers: [{ name: 'debug', image: 'i' }],
  };
  const findPod = (uid: string) => (uid === WEB.uid ? { spec } : undefined);
  const log = new PodEventLog({ clock: new FakeClock(), logger, findPod });
  for (const container of ['setup', 'debug', 'c']) log.record(WEB, { ...started, container });
  log.record(WEB, { type: 'Normal', reason: 'Killing', message: 'Stopping' });
  log.record(DB, { ...started, container: 'setup' });
  const paths = [
    ...['spec.initContainers{setup}', 'spec.ephemeralContainers{debug}', 'spec.containers{c}'],
    ...[undefined, 'spec.containers{setup}'],
  ];
  expect(log.list().map(({ fieldPath }) => fieldPath)).toEqual(paths);
  expect(lines).toMatchObject(paths.map((fieldPath) => ({ fieldPath })));
});

it('says nothing that nobody may read, nor logs it', () => {
  const lines: unknown[] = [];
  const logger = { ...SILENT_LOGGER, info: (...line: unknown[]) => void lines.push(line) };
  const hide = (text: string, namespace: string): string =>
    namespace === WEB.namespace ? text.replaceAll('swordfish', '***') : text;
  const log = new PodEventLog({ clock: new FakeClock(), logger, hide });
  log.record(WEB, { ...failed, message: 'no such file: swordfish' });
  expect(log.list()).toMatchObject([{ message: 'no such file: ***' }]);
  expect(JSON.stringify(lines)).toContain('no such file: ***');
  expect(JSON.stringify(lines)).not.toContain('swordfish');
  // It is the Secret of another namespace, and this pod’s author may not find out what it says.
  log.record({ uid: 'u3', namespace: 'guesser', name: 'web' }, { ...failed, message: 'swordfish?' });
  expect(log.list('u3')).toMatchObject([{ message: 'swordfish?' }]);
});

it('notifies its followers, without what is hidden, until they leave', () => {
  const hide = (text: string): string => text.replace('such', '***');
  const log = new PodEventLog({ clock: new FakeClock(), logger: SILENT_LOGGER, hide });
  const told: unknown[] = [];
  const unfollow = log.follow({ record: (pod, event) => void told.push([pod, event]) });
  log.record(WEB, failed);
  unfollow();
  log.record(WEB, started);
  expect(told).toEqual([[WEB, { ...failed, message: 'Error: no *** file' }]]);
});
