import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JournalRecord } from '../journal/journal-record.js';
import { type ContainerLifecycleEvent } from '../../watch/pleg/index.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type CriCall, criCallEnded, criConnectionChanged } from '#base/channels/channels.js';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';
import { podAdded } from '#base/channels/start-channels.js';
import { podSyncEnded } from '#base/channels/worker-channels.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { PodEventLog } from '../../node/telemetry/reports/pod-event-log.js';
import { CallRecords } from './call-records.js';
import { hideInRecord } from './hide-in-record.js';
import { placeInRecord } from './place-in-record.js';
import { toLifecycleRecord } from './lifecycle-records.js';
import { recordPodEvents } from '../../node/history/pod-event-records.js';
import { RepeatFolder } from './repeat-folder.js';
import { RuntimeRecords } from '../../node/history/runtime-records.js';
import { recordSyncs } from './sync-records.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const SECOND = 1_000;
const pod = { uid: 'u1', namespace: 'default', name: 'web' };

let clock: FakeClock;
let records: JournalRecord[];
let leave: () => void;

beforeEach(() => {
  clock = new FakeClock();
  records = [];
  leave = () => undefined;
});

afterEach(() => leave());

const append = (record: JournalRecord) => void records.push(record);
const maker = () => ({
  ...{ channels, clock, append, repeats: new RepeatFolder({ clock, append }) },
  findPod: (uid: string) => (uid === pod.uid ? pod : undefined),
});
const words = () => records.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

let calls = 0;
const call = (method: string, more: Partial<CriCall> = {}): CriCall => ({
  ...{ id: ++calls, method, operation: method, pod, containerId: undefined, sandboxId: undefined },
  ...{ deadlineMs: 120 * SECOND, streaming: false },
  ...{ startedAtMonotonicMs: clock.monotonicMs(), startedAtMs: clock.now() },
  ...more,
});
const endCall = (ended: CriCall, outcome = 'ok') => {
  const durationMs = clock.monotonicMs() - ended.startedAtMonotonicMs;
  channels.publish(criCallEnded, { call: ended, durationMs, outcome, unknownFields: 0, responseBytes: 0 });
};

it('lifecycle events become records, those of failures warnings', () => {
  const event = (more: Partial<ContainerLifecycleEvent>): ContainerLifecycleEvent => ({
    ...{ type: 'ContainerDied', kind: 'container', pod, containerId: 'c1', containerName: 'main' },
    ...{ exitCode: undefined, reason: undefined, occurredAtNs: undefined },
    ...{ trigger: 'relist', stamp: OLDEST_STAMP, observedAtMs: 5 },
    ...more,
  });
  records = [
    event({ type: 'ContainerStarted' }),
    event({ type: 'ContainerStarted', trigger: 'initial', kind: 'sandbox' }),
    event({ exitCode: 3, reason: 'Error', occurredAtNs: 2n ** 62n }),
    event({ exitCode: 0, reason: 'Completed', trigger: 'initial' }),
    event({ kind: 'sandbox', exitCode: 137 }),
    event({ type: 'ContainerRemoved' }),
    event({ type: 'ContainerChanged' }),
  ].flatMap((each) => toLifecycleRecord(each) ?? []);
  expect(words()).toEqual([
    'Normal ContainerStarted: Container main started',
    'Normal ContainerStarted: Sandbox runs, found at the start',
    'Warning ContainerDied: Container main died with exit code 3: Error',
    'Normal ContainerDied: Container main died with exit code 0: Completed, found at the start',
    'Normal ContainerDied: Sandbox died',
    'Normal ContainerRemoved: Container main was removed',
  ]);
  expect(records[2]!.details).toMatchObject({ exitCode: 3, occurredAt: '2116-02-20T23:53:38.427387904Z' });
});

describe('syncs', () => {
  const end = (more: object = {}) =>
    channels.publish(podSyncEnded, {
      ...{ uid: 'u1', workType: 'SyncPod', reason: 'sync', waitedMs: 0, durationMs: 1_200, error: undefined },
      ...more,
    });

  it('are recorded if they changed something or failed, with details', () => {
    leave = recordSyncs(maker());
    end();
    for (const method of ['RunPodSandbox', 'ContainerStatus', 'StartContainer']) endCall(call(method));
    end({ reason: 'create' });
    end();
    end({ error: new Error('no room') });
    end({ workType: 'TerminatedPod' });
    end({ uid: 'somebody else', error: new Error('no room') });
    expect(words()).toEqual([
      'Normal Synced: SyncPod (create) made RunPodSandbox, StartContainer and ended after 1.2s',
      'Warning SyncFailed: SyncPod (sync) failed after 1.2s: no room',
      'Normal CleanedUp: TerminatedPod (sync) ended after 1.2s',
    ]);
  });

  it('say when a pod arrived, when work on it began and when each call was made, until it has a sandbox', async () => {
    leave = recordSyncs(maker());
    const arrivedAtMs = clock.now();
    channels.publish(podAdded, { uid: 'u1', containers: 1, hasNetwork: true });
    await clock.advance(3 * SECOND);
    end({ waitedMs: 200, durationMs: 2_500, error: new Error('no volume') });
    const run = call('RunPodSandbox');
    await clock.advance(2 * SECOND);
    endCall(run);
    end({ durationMs: 2_000 });
    endCall(call('StartContainer'));
    end();
    const callTimes = [`${run.startedAtMs}+2000`];
    expect(records.map(({ details }) => [details?.['arrivedAtMs'], details?.['workedAtMs']])).toEqual([
      [undefined, undefined],
      [arrivedAtMs, arrivedAtMs + 700],
      [undefined, undefined],
    ]);
    expect(records[1]!.details).toMatchObject({ calls: ['RunPodSandbox'], callTimes });
  });

  it('say nothing of the arrival of a pod that an earlier agent started', async () => {
    leave = recordSyncs(maker());
    channels.publish(podAdded, { uid: 'u1', containers: 1, hasNetwork: true });
    end();
    await clock.advance(SECOND);
    endCall(call('RunPodSandbox'));
    end();
    expect(records.map(({ details }) => details?.['arrivedAtMs'])).toEqual([undefined]);
  });

  it('that repeatedly fail in the same way are recorded once a minute with their count', async () => {
    leave = recordSyncs(maker());
    for (let second = 0; second <= 120; second += 10) {
      end({ error: new Error('no room') });
      await clock.advance(10 * SECOND);
    }
    expect(records.map(({ count }) => count)).toEqual([1, 7, 13]);
  });

  it('have all failures recorded before a success', async () => {
    leave = recordSyncs(maker());
    for (let time = 1; time <= 3; time++) {
      end({ error: new Error('no room') });
      await clock.advance(SECOND);
    }
    end();
    end({ error: new Error('no room') });
    expect(records.map(({ count }) => count)).toEqual([1, 3, 1]);
  });

  it('that were interrupted by newer work are not failures, and their calls are recorded with that work', () => {
    leave = recordSyncs(maker());
    endCall(call('RunPodSandbox'));
    end({ error: new Error('the work was overtaken'), isOvertaken: true });
    expect(records).toEqual([]);
    end({ workType: 'TerminatingPod', reason: 'kill' });
    expect(words()).toEqual([
      'Normal Stopped: TerminatingPod (kill) made RunPodSandbox and ended after 1.2s',
    ]);
  });

  it('are recorded after calls for any number of pods that are gone, too', () => {
    leave = recordSyncs(maker());
    for (let gone = 1; gone <= 1_500; gone++) {
      endCall(call('RemoveContainer', { pod: { ...pod, uid: `gone ${gone}` } }));
    }
    endCall(call('StartContainer'));
    end();
    expect(words()).toEqual(['Normal Synced: SyncPod (sync) made StartContainer and ended after 1.2s']);
  });
});

it('events of pods are recorded without any other data of their pod', () => {
  leave = recordPodEvents(maker());
  const log = new PodEventLog({ channels, clock, logger: SILENT_LOGGER });
  const metadata = { ...pod, annotations: { token: 'hunter2' } };
  for (let time = 1; time <= 3; time++) {
    log.record(metadata, { type: 'Warning', reason: 'BackOff', message: 'again', container: 'main' });
  }
  expect(records).toEqual([
    {
      ...{ atMs: clock.now(), kind: 'event', type: 'Warning', reason: 'BackOff', message: 'again' },
      ...{ pod, container: 'main', count: 1, firstAtMs: clock.now() },
    },
  ]);
});

it('records have the field of a container that is not among the regular ones of its pod', () => {
  const spec = { initContainers: [{ name: 'setup', image: 'i' }] };
  const record: JournalRecord = {
    ...{ atMs: clock.now(), kind: 'restart', type: 'Normal', reason: 'Restarted', message: 'again', pod },
  };
  const setup = { ...record, container: 'setup' };
  expect(placeInRecord(setup, spec)).toEqual({ ...setup, fieldPath: 'spec.initContainers{setup}' });
  for (const same of [record, { ...record, container: 'main' }]) {
    expect(placeInRecord(same, spec)).toBe(same);
  }
  expect(placeInRecord(setup, undefined)).toBe(setup);
});

describe('calls of the runtime', () => {
  it('are recorded at their end if they were slow for what they requested, and while they hang', async () => {
    const inFlight: CriCall[] = [];
    const subject = new CallRecords({
      ...{ ...maker(), callsInFlight: () => inFlight, requestTimeoutMs: 120 * SECOND },
    });
    leave = () => subject[Symbol.dispose]();
    inFlight.push(
      call('StopContainer', { deadlineMs: 150 * SECOND }),
      call('ContainerStatus'),
      call('CreateContainer'),
      call('PullImage', { deadlineMs: undefined }),
    );
    await clock.advance(999);
    endCall(call('Status', { startedAtMonotonicMs: clock.monotonicMs() - 999 }));
    await clock.advance(4_001);
    endCall(inFlight.splice(2, 1)[0]!);
    await clock.advance(5_000);
    subject.look();
    subject.look();
    await clock.advance(20_000);
    endCall(inFlight[1]!, 'CRI_DEADLINE_EXCEEDED');
    endCall(inFlight[0]!);
    endCall(inFlight[2]!);
    expect(words()).toEqual([
      'Normal SlowCall: CreateContainer took 5s',
      'Warning CallHangs: ContainerStatus is not answered for 10s',
      'Warning CallReturned: ContainerStatus took 30s and ended with CRI_DEADLINE_EXCEEDED',
    ]);
  });
});

describe('repeated records', () => {
  const slow = (durationMs: number): JournalRecord => ({
    ...{ atMs: clock.now(), kind: 'call', type: 'Normal', reason: 'SlowCall' },
    ...{ message: `took ${durationMs} ms`, details: { durationMs } },
  });
  const told = () => records.map(({ message, count }) => `${count} ${message}`);

  it('are written with count and maximum once they have stopped for a minute', async () => {
    const subject = new RepeatFolder({ clock, append });
    for (const durationMs of [2_000, 9_000, 3_000]) {
      subject.fold('slow', slow(durationMs), { durationMs });
      await clock.advance(SECOND);
    }
    subject.look();
    expect(told()).toEqual(['1 took 2000 ms']);
    await clock.advance(60 * SECOND);
    subject.look();
    subject.look();
    expect(told().slice(1)).toEqual(['3 took 3000 ms; the longest of 3 took 9s']);
    expect(records[1]!.details).toEqual({ durationMs: 3_000, longestMs: 9_000 });
  });

  it('are written when they end, and when they must make room for others', () => {
    const subject = new RepeatFolder({ clock, append });
    for (const key of ['a 1', 'b 1', 'a 1', 'b 1']) subject.fold(key, slow(1));
    subject.end('a ');
    expect(told()).toEqual(['1 took 1 ms', '1 took 1 ms', '2 took 1 ms']);
    for (let other = 1; other <= 1_000; other++) subject.fold(`other ${other}`, slow(1));
    expect(records.filter(({ count }) => count === 2)).toHaveLength(2);
    subject.fold('a 1', slow(1));
    expect(told().at(-1)).toBe('1 took 1 ms');
  });
});

it('a record contains no value of a Secret of its pod’s namespace, wherever it was quoted', () => {
  const hide = (text: string, namespace: string | undefined) =>
    namespace === 'default' ? text.replaceAll('swordfish', '***') : text;
  const record: JournalRecord = {
    pod,
    ...{ atMs: 1, kind: 'sync', type: 'Warning', reason: 'SyncFailed', message: 'env of main: swordfish' },
    details: { error: 'bad: swordfish', calls: ['swordfish'], durationMs: 2, exitCode: undefined },
  };
  expect(hideInRecord(record, hide)).toEqual({
    ...{ ...record, message: 'env of main: ***' },
    details: { error: 'bad: ***', calls: ['***'], durationMs: 2, exitCode: undefined },
  });
  for (const about of [{ ...pod, namespace: 'guesser' }, undefined]) {
    const { pod: _pod, ...words } = record;
    const other = about === undefined ? words : { ...words, pod: about };
    expect(hideInRecord(other, hide)).toEqual(other);
  }
});

describe('the runtime', () => {
  it('is recorded when it goes away and comes back, and when pods get stuck in it', () => {
    let health = {
      ...{ healthy: true, message: undefined as string | undefined, reason: undefined, thresholdMs: 1 },
      ...{ lastSeenAtMs: 1, listInFlightMs: undefined, stuckPodCount: 0 },
      stuckPods: [] as {
        pod: typeof pod;
        state: 'hung';
        sinceMs: number;
        forMs: number;
        failures: number;
        error: undefined;
      }[],
    };
    const subject = new RuntimeRecords({
      ...{ ...maker(), endpoint: 'unix:///cri.sock', health: () => health, isRuntimeThere: () => true },
    });
    leave = () => subject[Symbol.dispose]();
    const change = (state: 'ready' | 'failing' | 'connecting', endpoint = 'unix:///cri.sock') =>
      channels.publish(criConnectionChanged, { endpoint, state, generation: 1 });
    const relist = (error: string | undefined, scope: RelistEnd['scope'] = 'all') =>
      channels.publish(relistEnded, { scope, trigger: 'relist', durationMs: 3, error } as RelistEnd);
    change('connecting');
    change('ready');
    change('ready', 'unix:///other.sock');
    change('failing');
    change('connecting');
    change('ready');
    relist(undefined);
    relist('no answer');
    relist('no answer');
    relist('that pod', 'pod');
    relist(undefined);
    subject.look();
    health = { ...health, healthy: false, message: 'pleg was last seen active 3m5s ago' };
    subject.look();
    health = { ...health, healthy: true };
    subject.look();
    health = {
      ...health,
      stuckPods: [{ pod, state: 'hung', sinceMs: 0, forMs: 3_500, failures: 1, error: undefined }],
    };
    subject.look();
    subject.look();
    health = { ...health, stuckPods: [] };
    subject.look();
    expect(words()).toEqual([
      'Normal RuntimeConnected: Connected to the runtime at unix:///cri.sock',
      'Warning RuntimeDisconnected: The connection to the runtime at unix:///cri.sock broke',
      'Normal RuntimeConnected: Connected to the runtime at unix:///cri.sock',
      'Warning RelistFailed: no answer',
      'Warning RelistFailed: no answer',
      'Normal RelistSucceeded: All pods were listed again',
      'Warning Unhealthy: PLEG is not healthy: pleg was last seen active 3m5s ago',
      'Normal Healthy: PLEG is healthy again',
      'Warning PodStuck: The runtime has not answered for the pod for 3.5s (hung)',
      'Normal PodNotStuck: The runtime answers for the pod again',
    ]);
    expect(records.filter(({ kind }) => kind === 'relist').map(({ count }) => count)).toEqual([
      ...[1, 2],
      undefined,
    ]);
  });
});
