import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../../watch/cri/client.js';
import {
  type Container,
  ContainerEventType,
  ContainerState,
  ContainerStatusResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
  VersionResponse,
} from '../../../watch/cri/generated/runtime/v1/cri.js';
import { FakeClock } from '#testing/fake-clock.js';
import { RecordHarness } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';
import { ReplayServer, type ReplayServerOptions } from '../index.js';

const { CONTAINER_RUNNING: RUNNING, CONTAINER_EXITED: EXITED } = ContainerState;

/** A recording of a node with one pod, whose container a test changes. */
async function recordNode(act: (scene: Scene) => Promise<void>): Promise<RecordHarness> {
  const scene = new Scene();
  const harness = await RecordHarness.start({
    handlers: {
      version: (_call, reply) => reply(null, VersionResponse.fromPartial({ runtimeName: 'recorded' })),
      listPodSandbox: (_call, reply) =>
        reply(
          null,
          ListPodSandboxResponse.fromPartial({ items: [{ id: 'sandbox', metadata: { name: 'web' } }] }),
        ),
      listContainers: (_call, reply) =>
        reply(null, ListContainersResponse.fromPartial({ containers: scene.containers })),
      containerStatus: ({ request }, reply) => {
        if (scene.hangs) return;
        const found = scene.containers.find(({ id }) => id === request.containerId);
        if (found === undefined) reply({ code: status.NOT_FOUND, details: 'gone' });
        else reply(null, ContainerStatusResponse.fromPartial({ status: { ...found, message: 'x' } }));
      },
      startContainer: (_call, reply) => reply(null, {}),
      stopContainer: (_call, reply) => reply({ code: status.INTERNAL, details: 'no' }),
      getContainerEvents: (call) => {
        scene.emit = (containerId) =>
          call.write({
            ...{ containerId, containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT, createdAt: 1n },
            ...{ podSandboxStatus: undefined, containersStatuses: [] },
          });
      },
    },
  });
  scene.harness = harness;
  await act(scene);
  await harness.proxy.close();
  return harness;
}

class Scene {
  containers: Container[] = [];
  hangs = false;
  emit: ((containerId: string) => void) | undefined;
  harness!: RecordHarness;

  get client(): CriClient {
    return this.harness.client;
  }

  set(...containers: readonly (readonly [id: string, state: Container['state']])[]): void {
    const { containers: made } = ListContainersResponse.fromPartial({
      containers: containers.map(([id, state]) => ({
        id,
        state,
        podSandboxId: 'sandbox',
        labels: { app: id },
      })),
    });
    this.containers = made;
  }

  /** Asks for the lists, and a second later it is later. */
  async look(): Promise<void> {
    await this.client.listPodSandbox();
    await this.client.listContainers();
    await this.harness.clock.advance(1_000);
  }
}

/** A replay with a clock that stands still, and a client of it. */
class Replay implements AsyncDisposable {
  readonly clock = new FakeClock();
  server!: ReplayServer;
  client!: CriClient;

  static async start(recording: RecordHarness, options: Partial<ReplayServerOptions> = {}): Promise<Replay> {
    const replay = new Replay();
    const listen = `unix://${join(recording.file, '..', 'replay.sock')}`;
    replay.server = await ReplayServer.start({
      file: recording.file,
      listen,
      clock: replay.clock,
      ...options,
    });
    replay.client = new CriClient({ endpoint: replay.server.endpoint });
    return replay;
  }

  async states(request: Parameters<CriClient['listContainers']>[0] = {}): Promise<string[]> {
    const { containers } = await this.client.listContainers(request);
    return containers.map(({ id, state }) => `${id} ${state === RUNNING ? 'running' : 'exited'}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.server.close();
  }
}

/** One container runs, a second comes, the first ends: a second each. */
const churn = (): Promise<RecordHarness> =>
  recordNode(async (scene) => {
    scene.set(['one', RUNNING]);
    await scene.look();
    scene.set(['one', RUNNING], ['two', RUNNING]);
    await scene.look();
    scene.set(['one', EXITED], ['two', RUNNING]);
    await scene.client.containerStatus({ containerId: 'one' });
    await scene.look();
  });

describe('a replay', () => {
  it('shows the node as it was at each moment, whatever filter is asked for', async () => {
    await using recording = await churn();
    await using replay = await Replay.start(recording);
    expect(await replay.states()).toEqual(['one running']);
    await replay.clock.advance(1_000);
    expect(await replay.states()).toEqual(['one running', 'two running']);
    expect(await replay.states({ filter: { id: 'two' } })).toEqual(['two running']);
    await replay.clock.advance(1_500);
    expect(await replay.states()).toEqual(['one exited', 'two running']);
    expect(await replay.states({ filter: { state: { state: RUNNING } } })).toEqual(['two running']);
    expect(await replay.states({ filter: { labelSelector: { app: 'one' } } })).toEqual(['one exited']);
    await replay.clock.advance(60_000);
    expect(await replay.states()).toEqual(['one exited', 'two running']);
    expect(replay.server.positionMs).toBe(3_000);
  });

  it('gives statuses that fit the list: recorded ones, or what the list tells', async () => {
    await using recording = await churn();
    await using replay = await Replay.start(recording);
    const stateOf = async (containerId: string): Promise<unknown> => {
      const { status: found } = await replay.client.containerStatus({ containerId });
      return [found!.state, found!.message];
    };
    expect(await stateOf('one')).toEqual([RUNNING, '']);
    await expect(stateOf('two')).rejects.toMatchObject({ code: 'CRI_NOT_FOUND' });
    await replay.clock.advance(2_000);
    expect(await stateOf('one')).toEqual([EXITED, '[redacted]']);
    expect(await stateOf('two')).toEqual([RUNNING, '']);
  });

  it('goes faster, begins later, begins anew, and ends, as it is told', async () => {
    await using recording = await churn();
    {
      await using fast = await Replay.start(recording, { speed: 10, fromMs: 1_000 });
      expect(await fast.states()).toEqual(['one running', 'two running']);
      await fast.clock.advance(100);
      expect(await fast.states()).toEqual(['one exited', 'two running']);
    }
    {
      await using looped = await Replay.start(recording, { atEnd: 'loop' });
      expect(await looped.states()).toEqual(['one running']);
      await looped.clock.advance(2_500);
      expect(await looped.states()).toEqual(['one exited', 'two running']);
      await looped.clock.advance(1_000);
      expect(await looped.states()).toEqual(['one running']);
    }
    await using whole = await Replay.start(recording, { atEnd: 'exit' });
    let hasEnded = false;
    void whole.server.ended.then(() => (hasEnded = true));
    await whole.clock.advance(10_000);
    expect(hasEnded).toBe(false);
    await whole.client.version();
    await whole.clock.advance(3_001);
    expect(hasEnded).toBe(true);
  });

  it('takes as long as it took, fails as it failed, and hangs where it hung', async () => {
    await using recording = await recordNode(async (scene) => {
      scene.set(['one', RUNNING]);
      await scene.look();
      await scene.client.containerStatus({ containerId: 'one' });
      await scene.harness.clock.advance(1_000);
      scene.hangs = true;
      const giveUp = new AbortController();
      const hanging = scene.client.containerStatus({ containerId: 'one' }, { signal: giveUp.signal });
      await untilTrue(() => scene.harness.proxy.counts.open === 1);
      await scene.harness.clock.advance(5_000);
      giveUp.abort(new Error('enough'));
      await expect(hanging).rejects.toThrow('enough');
      await untilTrue(() => scene.harness.proxy.counts.open === 0);
      scene.hangs = false;
      await expect(scene.client.stopContainer({ containerId: 'one', timeout: 3n })).rejects.toThrow();
    });
    await using replay = await Replay.start(recording);
    const { client, clock } = replay;
    await client.version();
    await client.containerStatus({ containerId: 'one' });
    await clock.advance(3_000);
    const hanging = client.containerStatus({ containerId: 'one' }, { timeoutMs: 300 });
    await expect(hanging).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    expect(await replay.states()).toEqual(['one running']);
    const stop = client.stopContainer({ containerId: 'one', timeout: 3n });
    await expect(stop).rejects.toMatchObject({ code: 'CRI_FAILED_PRECONDITION' });
    await clock.advance(5_000);
    await expect(client.stopContainer({ containerId: 'one', timeout: 3n })).rejects.toMatchObject({
      code: 'CRI_INTERNAL',
    });
  });

  it('answers changes that were asked for, and refuses what nobody asked', async () => {
    await using recording = await recordNode(async (scene) => {
      await scene.look();
      await scene.client.startContainer({ containerId: 'one' });
    });
    await using replay = await Replay.start(recording);
    const { client } = replay;
    await client.startContainer({ containerId: 'one' });
    await expect(client.startContainer({ containerId: 'two' })).rejects.toThrow(
      /FailedPrecondition desc = this is a recording: nobody asked for this StartContainer/,
    );
    await expect(client.exec({ containerId: 'one', cmd: ['sh'] })).rejects.toThrow(
      /this is a recording: what goes/,
    );
    // With this clients begin: it is answered whether or not somebody asked.
    expect((await client.version()).runtimeName).toBe('podloop-replay');
    await expect(client.imageFsInfo()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
    const events = client.getContainerEvents();
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'CRI_UNIMPLEMENTED' });
  });

  it('sends events at their times, to everybody, and again in the next round', async () => {
    await using recording = await recordNode(async (scene) => {
      await scene.look();
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { containerId } of scene.client.getContainerEvents()) seen.push(containerId);
      })().catch(() => undefined);
      await untilTrue(() => scene.emit !== undefined);
      for (const id of ['one', 'two']) {
        scene.emit!(id);
        await untilTrue(() => seen.includes(id));
        await scene.harness.clock.advance(1_000);
      }
      scene.client.close();
      await reading;
    });
    await using replay = await Replay.start(recording, { atEnd: 'loop' });
    const seen: string[] = [];
    const readers = ['a', 'b'].map(async (name) => {
      for await (const { containerId } of replay.client.getContainerEvents())
        seen.push(`${name} ${containerId}`);
    });
    await untilTrue(() => replay.server.calls === 2);
    await replay.clock.advance(999);
    expect(seen).toEqual([]);
    const reached = async (ms: number, ...expected: readonly string[]): Promise<void> => {
      await replay.clock.advance(ms);
      await untilTrue(() => seen.length >= expected.length);
      expect(seen.splice(0).sort()).toEqual(expected);
    };
    await reached(1, 'a one', 'b one');
    await reached(1_000, 'a two', 'b two');
    await reached(2_000, 'a one', 'b one');
    replay.client.close();
    await Promise.allSettled(readers);
  });
});
