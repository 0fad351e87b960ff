import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import {
  type Container,
  ContainerState,
  ContainerStatusResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
} from '#watch/messages';
import { RecordHarness } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';
import { readRecordingEvents, type RecordingEvent } from './recording-events.js';

const POD = { namespace: 'default', name: 'web', uid: 'u1' };
/** When the recording begins, as the clock of the tests has it. */
const BEGIN_MS = Date.parse('2026-01-02T03:04:05.000Z');
const ns = (afterMs: number): bigint => BigInt(BEGIN_MS + afterMs) * 1_000_000n;

/** A container as a list shows it. */
function aContainer(id: string, state: ContainerState, attempt = 0): Container {
  const metadata = { name: 'main', attempt };
  const item = { id, podSandboxId: 's1', metadata, state };
  return ListContainersResponse.fromPartial({ containers: [item] }).containers[0]!;
}

interface Scene extends AsyncDisposable {
  readonly recording: RecordHarness;
  /** What the runtime shows from now on. */
  readonly show: (...containers: Container[]) => Promise<void>;
}

async function aScene(): Promise<Scene> {
  let containers: readonly Container[] = [];
  const recording = await RecordHarness.start({
    handlers: {
      listPodSandbox: (_call, reply) =>
        reply(null, ListPodSandboxResponse.fromPartial({ items: [{ id: 's1', metadata: POD }] })),
      listContainers: (_call, reply) => reply(null, { containers: [...containers] }),
      containerStatus: ({ request: { containerId: id } }, reply) => {
        const state = containers.find((each) => each.id === id)?.state;
        const [startedAt, finishedAt] = [
          ns(1_500),
          state === ContainerState.CONTAINER_EXITED ? ns(3_500) : 0n,
        ];
        const end = finishedAt === 0n ? {} : { exitCode: 137, reason: 'OOMKilled' };
        reply(
          null,
          ContainerStatusResponse.fromPartial({ status: { id, state, startedAt, finishedAt, ...end } }),
        );
      },
      podSandboxStatus: () => undefined,
      stopPodSandbox: (_call, reply) => reply({ code: status.INTERNAL, details: 'it cannot be stopped' }),
      removeContainer: (_call, reply) => reply(null, {}),
      pullImage: (_call, reply) => reply(null, { imageRef: 'sha256:1' }),
    },
  });
  const { client, clock } = recording;
  return {
    recording,
    show: async (...shown) => {
      containers = shown;
      await client.listPodSandbox();
      await client.listContainers();
      for (const { id } of shown) await client.containerStatus({ containerId: id });
      await clock.advance(1_000);
    },
    [Symbol.asyncDispose]: async () => recording[Symbol.asyncDispose](),
  };
}

const short = ({ atMs, kind, type, reason, message }: RecordingEvent): unknown[] => [
  ...[atMs - BEGIN_MS, kind, type, reason, message],
];

it('has the life of containers, with when and how it ended, and that they were started again', async () => {
  await using scene = await aScene();
  const { recording, show } = scene;
  await show();
  await show(aContainer('c1', ContainerState.CONTAINER_CREATED));
  await show(aContainer('c1', ContainerState.CONTAINER_RUNNING));
  await show(aContainer('c1', ContainerState.CONTAINER_EXITED));
  await show(aContainer('c2', ContainerState.CONTAINER_RUNNING, 1));
  await recording.proxy.close();
  const { events, durationMs, end } = await readRecordingEvents(recording.file);
  expect([durationMs, end]).toEqual([5_000, 'stopped']);
  const lives = events.filter(({ kind }) => kind === 'lifecycle' || kind === 'restart');
  expect(lives.map(short)).toEqual([
    [0, 'lifecycle', 'Normal', 'ContainerStarted', 'Sandbox runs, found at the beginning'],
    [2_000, 'lifecycle', 'Normal', 'ContainerStarted', 'Container main started'],
    [3_000, 'lifecycle', 'Warning', 'ContainerDied', 'Container main died with exit code 137: OOMKilled'],
    [4_000, 'lifecycle', 'Normal', 'ContainerStarted', 'Container main started'],
    [4_000, 'restart', 'Warning', 'ContainerRestarted', 'Container main was started again'],
    [4_000, 'lifecycle', 'Normal', 'ContainerRemoved', 'Container main was removed'],
  ]);
  expect(lives[2]).toMatchObject({
    ...{ pod: POD, container: 'main' },
    details: {
      ...{ containerId: 'c1', exitCode: 137, containerReason: 'OOMKilled' },
      occurredAt: '2026-01-02T03:04:08.500000000Z',
    },
  });
});

it('has calls that hung, failures of the same kind as one, pulls, and what was changed', async () => {
  await using scene = await aScene();
  const { recording, show } = scene;
  const { client, clock, proxy } = recording;
  await show(aContainer('c1', ContainerState.CONTAINER_RUNNING));
  await client.pullImage({ image: { image: 'web:1' }, sandboxConfig: { metadata: POD } });
  for (let count = 0; count < 3; count++)
    await client.stopPodSandbox({ podSandboxId: 's1' }).catch(() => undefined);
  await client.removeContainer({ containerId: 'c1' });
  const giveUp = new AbortController();
  const given = client.podSandboxStatus({ podSandboxId: 's1' }, { signal: giveUp.signal });
  await untilTrue(() => proxy.counts.open === 1);
  await clock.advance(20_000);
  giveUp.abort(new Error('enough'));
  await given.catch(() => undefined);
  await untilTrue(() => proxy.counts.open === 0);
  const open = client.podSandboxStatus({ podSandboxId: 's1' });
  await untilTrue(() => proxy.counts.open === 1);
  await clock.advance(30_000);
  await proxy.close();
  client.close();
  await open.catch(() => undefined);
  const { events } = await readRecordingEvents(recording.file);
  const calls = events.filter(({ kind }) => kind === 'call' || kind === 'event');
  expect(calls.map(short)).toEqual([
    [1_000, 'event', 'Normal', 'Pulling', 'PullImage began'],
    [1_000, 'event', 'Normal', 'Pulled', 'PullImage took 0s'],
    [
      ...[1_000, 'call', 'Warning', 'CallFailed'],
      'StopPodSandbox failed after 0s: INTERNAL: it cannot be stopped',
    ],
    [1_000, 'event', 'Normal', 'RemoveContainer', 'RemoveContainer was done in 0s'],
    [
      ...[21_000, 'call', 'Warning', 'CallReturned'],
      'PodSandboxStatus was not answered for 20s, and given up',
    ],
    [51_000, 'call', 'Warning', 'CallHangs', 'PodSandboxStatus was not answered any more, for 30s'],
  ]);
  expect(calls[2]).toMatchObject({ count: 3, pod: POD, details: { code: 'INTERNAL', sandboxId: 's1' } });
  expect(calls[3]).toMatchObject({ pod: POD, container: 'main' });
  expect(calls[5]!.details).toMatchObject({ method: 'PodSandboxStatus', forMs: 30_000 });
});

it('leaves out what went well first when there is too much, and says how much', async () => {
  await using scene = await aScene();
  const { recording, show } = scene;
  await show(aContainer('c1', ContainerState.CONTAINER_RUNNING));
  for (let count = 0; count < 5; count++) await recording.client.removeContainer({ containerId: 'c1' });
  await recording.client.stopPodSandbox({ podSandboxId: 's1' }).catch(() => undefined);
  await recording.proxy.close();
  const { events, leftOut } = await readRecordingEvents(recording.file, { maxEvents: 4 });
  expect(events.map(({ reason }) => reason)).toEqual(['ContainerStarted', 'ContainerStarted', 'CallFailed']);
  expect(leftOut).toBe(5);
});
