import { describe, expect, it, onTestFinished } from 'vitest';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { Channels } from '#base/channels/publishing-channel.js';
import { aPod } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { type ObservedPod } from '#watch';
import { NOT_ASKED } from '#doctor';
import { ObservedPort, type ObservedPortOptions } from './observed-port.js';

const LIMITS = { signal: new AbortController().signal, timeoutMs: 5_000 };

function setUp(pods: readonly ObservedPod[] = [aPod({ name: 'web' }), aPod({ name: 'job' })]) {
  const clock = new FakeClock();
  const channels = new Channels();
  const inFlight: CriCall[] = [];
  const asked: string[] = [];
  const health = { lastSeenAtMs: 1 as number | undefined };
  const client = {
    endpoint: 'unix:///run/cri.sock',
    callsInFlight: () => inFlight,
    podSandboxStatus: async () => Promise.resolve(void asked.push('sandbox')),
    containerStatus: async () => Promise.resolve(void asked.push('container')),
  };
  const port = new ObservedPort({
    client: client as unknown as ObservedPortOptions['client'],
    pleg: {
      cache: { uids: () => pods.map(({ uid }) => uid) },
      findObserved: (uid: string) => pods.find((pod) => pod.uid === uid),
      health: () => health,
    } as unknown as ObservedPortOptions['pleg'],
    ...{ channels, clock },
  });
  onTestFinished(() => port[Symbol.dispose]());
  const aCall = (method: string, ageMs: number, containerId?: string): CriCall => ({
    ...{ id: 1, method, operation: '', pod: undefined, containerId, sandboxId: undefined },
    ...{ startedAtMonotonicMs: clock.monotonicMs() - ageMs, startedAtMs: 0, deadlineMs: 1, streaming: false },
  });
  const end = (
    method: string,
    outcome: string,
    responseBytes = 0,
    { containerId, durationMs = 1 }: { containerId?: string; durationMs?: number } = {},
  ): void =>
    channels.publish(criCallEnded, {
      call: aCall(method, 1, containerId),
      ...{ durationMs, outcome, error: `${method} failed`, unknownFields: 0, responseBytes },
    });
  return { port, client, clock, health, inFlight, asked, aCall, end };
}

describe('the runtime as an observer knows it', () => {
  it('lists what the event generator has listed, without a call', async () => {
    const { port, asked, end } = setUp();
    end('StreamPodSandboxes', 'CRI_UNIMPLEMENTED');
    end('ListPodSandbox', 'ok', 1_234);
    const { items, bytes } = await port.listSandboxes(LIMITS);
    expect(items.map(({ pod, ready }) => [pod.name, ready])).toEqual([
      ['web', true],
      ['job', true],
    ]);
    expect(bytes).toBe(1_234);
    expect((await port.listContainers(LIMITS)).items.map(({ name, state }) => [name, state])).toEqual([
      ['main', 'running'],
      ['main', 'running'],
    ]);
    expect(asked).toEqual([]);
  });

  it('knows no pods before the first list, which is not the same as none', async () => {
    const { port, health } = setUp();
    health.lastSeenAtMs = undefined;
    await expect(port.listSandboxes(LIMITS)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });

  it('hangs where a list of the generator hangs, and only that one', async () => {
    const { port, clock, inFlight, aCall } = setUp();
    // The other list waits for its turn: lists go out one at a time.
    inFlight.push(aCall('ListContainers', 30_000), aCall('ListPodSandbox', 30_000));
    await port.listSandboxes(LIMITS);
    const list = port.listContainers(LIMITS).catch((error: unknown) => error);
    await clock.advanceUntil(() => clock.pendingTimers === 0);
    expect(await list).toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
  });

  it('fails as the last list failed, until one succeeds', async () => {
    const { port, end } = setUp();
    end('ListContainers', 'CRI_RESOURCE_EXHAUSTED');
    await expect(port.listContainers(LIMITS)).rejects.toMatchObject({ code: 'CRI_RESOURCE_EXHAUSTED' });
    await port.listSandboxes(LIMITS);
    end('ListContainers', 'ok');
    await port.listContainers(LIMITS);
  });

  it('hangs where the generator has given up a list, until one is answered', async () => {
    const { port, end } = setUp();
    end('ListContainers', 'aborted', 0, { durationMs: 120_000 });
    await expect(port.listContainers(LIMITS)).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    end('ListContainers', 'aborted', 0, { durationMs: 20 });
    await expect(port.listContainers(LIMITS)).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    end('ListContainers', 'ok');
    await port.listContainers(LIMITS);
    end('ListContainers', 'aborted', 0, { durationMs: 20 });
    await port.listContainers(LIMITS);
  });

  it('asks for ten statuses in an examination, and answers the others by what is known', async () => {
    const { port, asked, end } = setUp();
    port.beginExamination();
    for (let at = 0; at < 50; at++) await port.containerStatus(`c-${at}`, LIMITS);
    expect(asked).toHaveLength(10);
    expect(await port.containerStatus('c-51', LIMITS)).toBe(NOT_ASKED);
    end('ContainerStatus', 'CRI_INTERNAL', 0, { containerId: 'ill' });
    await expect(port.containerStatus('ill', LIMITS)).rejects.toThrow('ContainerStatus failed');
    end('ContainerStatus', 'CRI_NOT_FOUND', 0, { containerId: 'ill' });
    await port.containerStatus('ill', LIMITS);
    expect(asked).toHaveLength(10);
  });

  it('has no more than two statuses under way where they hang', async () => {
    const { port, client, asked } = setUp();
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    client.containerStatus = async () => {
      asked.push('container');
      await answered;
    };
    port.beginExamination();
    const statuses = ['a', 'b', 'c', 'd'].map(async (id) => port.containerStatus(id, LIMITS));
    expect(await Promise.all(statuses.slice(2))).toEqual([NOT_ASKED, NOT_ASKED]);
    expect(asked).toHaveLength(2);
    answer();
    await Promise.all(statuses);
  });

  it('hangs where the status of a pod hangs, and sends no second one', async () => {
    const { port, clock, inFlight, asked, aCall } = setUp();
    port.beginExamination();
    inFlight.push(aCall('ContainerStatus', 20_000, 'hung'));
    const status = port.containerStatus('hung', LIMITS).catch((error: unknown) => error);
    await clock.advanceUntil(() => clock.pendingTimers === 0);
    expect(await status).toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' });
    expect(asked).toEqual([]);
  });
});
