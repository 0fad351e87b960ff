import { credentials, status } from '@grpc/grpc-js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ContainerEventResponse,
  ContainerStatusRequest,
  type ContainerStatusResponse,
  type ListContainersRequest,
  type ListContainersResponse,
  RuntimeServiceClient,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { serveSyntheticRuntime, type SyntheticRuntime } from './serve-synthetic-runtime.js';

describe('a synthetic runtime', () => {
  let folder: string;
  let runtime: SyntheticRuntime;
  let client: RuntimeServiceClient;
  let list: () => Promise<ListContainersResponse>;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-synthetic-test-'));
    runtime = await serveSyntheticRuntime(path.join(folder, 'cri.sock'), { pods: 3, containersPerPod: 2 });
    client = new RuntimeServiceClient(runtime.endpoint, credentials.createInsecure());
    const call = promisify<ListContainersRequest, ListContainersResponse>(client.listContainers.bind(client));
    list = () => call({ filter: undefined });
  });

  afterEach(async () => {
    client.close();
    await runtime.close();
    await rm(folder, { recursive: true });
  });

  const statusOf = async (containerId: string) =>
    promisify<ContainerStatusRequest, ContainerStatusResponse>(client.containerStatus.bind(client))(
      ContainerStatusRequest.fromPartial({ containerId }),
    );

  it('shows a kill in the list and in the status', async () => {
    const [killed] = await runtime.control.kill({ count: 1 }, { exitCode: 7 });
    expect((await list()).containers.filter(({ state }) => state === 2).map(({ id }) => id)).toEqual([
      killed!.id,
    ]);
    expect((await statusOf(killed!.id)).status).toMatchObject({
      exitCode: 7,
      reason: 'Error',
      finishedAt: killed!.finishedAtNs,
    });
  });

  it('answers NotFound for what is not there', async () => {
    await expect(statusOf('nothing')).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('lets the status of one pod hang until it is released, and answers the others', async () => {
    const [stuck, free] = await runtime.control.pods();
    await runtime.control.setFaults({ hungPods: [stuck!.uid] });
    const hanging = statusOf(stuck!.containers[0]!.id);
    await expect(statusOf(free!.containers[0]!.id)).resolves.toBeDefined();
    expect((await runtime.control.counters()).inFlight.ContainerStatus).toBe(1);
    await runtime.control.setFaults({ hungPods: [] });
    expect((await hanging).status?.id).toBe(stuck!.containers[0]!.id);
  });

  it('forgets a hanging call whose caller went away', async () => {
    const [stuck] = await runtime.control.pods();
    await runtime.control.setFaults({ hungPods: [stuck!.uid] });
    const failed = new Promise((resolve) => {
      const call = client.containerStatus(
        ContainerStatusRequest.fromPartial({ containerId: stuck!.containers[0]!.id }),
        resolve,
      );
      void vi
        .waitFor(async () => expect((await runtime.control.counters()).inFlight.ContainerStatus).toBe(1))
        .then(() => call.cancel());
    });
    expect(await failed).toMatchObject({ code: status.CANCELLED });
    await vi.waitFor(async () => expect((await runtime.control.counters()).inFlight.ContainerStatus).toBe(0));
  });

  it('serves slow status calls side by side, up to its limit', async () => {
    await runtime.control.setFaults({ statusDelayMs: 5, statusConcurrency: 2 });
    const ids = (await runtime.control.pods()).flatMap((pod) => pod.containers.map(({ id }) => id));
    const answers = await Promise.all(ids.map(statusOf));
    expect(answers.map((answer) => answer.status?.id)).toEqual(ids);
    expect((await runtime.control.counters()).mostInFlight.ContainerStatus).toBe(6);
  });

  it('fails and hangs lists', async () => {
    await runtime.control.setFaults({ listFailure: status.UNAVAILABLE });
    await expect(list()).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await runtime.control.setFaults({ listFailure: status.OK, listsHang: true });
    const hanging = list();
    await vi.waitFor(async () => expect((await runtime.control.counters()).inFlight.ListContainers).toBe(1));
    await runtime.control.setFaults({ listsHang: false });
    expect((await hanging).containers.length).toBe(6);
  });

  it('streams lists only when told', async () => {
    const stream = () =>
      new Promise((resolve, reject) => {
        let items = 0;
        client
          .streamContainers({ filter: undefined })
          .on('data', (message: ListContainersResponse) => (items += message.containers.length))
          .on('error', reject)
          .on('end', () => resolve(items));
      });
    await expect(stream()).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    await runtime.control.setFaults({ streamingLists: true });
    expect(await stream()).toBe(6);
  });

  describe('sends events', () => {
    const read = async (): Promise<{ events: ContainerEventResponse[]; ended: Promise<unknown> }> => {
      const events: ContainerEventResponse[] = [];
      const before = (await runtime.control.counters()).inFlight.GetContainerEvents ?? 0;
      const stream = client.getContainerEvents({});
      stream.on('data', (event: ContainerEventResponse) => events.push(event));
      const ended = new Promise((resolve) => stream.on('error', resolve).on('end', () => resolve('ended')));
      await vi.waitFor(async () =>
        expect((await runtime.control.counters()).inFlight.GetContainerEvents).toBe(before + 1),
      );
      return { events, ended };
    };

    it('to every reader', async () => {
      const [one, two] = [await read(), await read()];
      const [killed] = await runtime.control.kill({ count: 1 });
      for (const { events } of [one, two]) {
        await vi.waitFor(() => expect(events.length).toBe(1));
        expect(events[0]).toMatchObject({ containerId: killed!.id, containerEventType: 2 });
        expect(events[0]!.podSandboxStatus?.metadata?.uid).toBe(killed!.podUid);
        expect(events[0]!.containersStatuses.length).toBe(2);
      }
    });

    it('with losses and doubles as told', async () => {
      const { events } = await read();
      await runtime.control.setFaults({ dropEvery: 2 });
      await runtime.control.kill({ count: 4 });
      await runtime.control.setFaults({ dropEvery: 0, duplicateEvery: 1 });
      const [last] = await runtime.control.kill({ count: 1 });
      await vi.waitFor(() => expect(events.length).toBe(4));
      expect(events.slice(2).map(({ containerId }) => containerId)).toEqual([last!.id, last!.id]);
      expect(await runtime.control.counters()).toMatchObject({ eventsSent: 4, eventsDropped: 2 });
    });

    it('that a test made up', async () => {
      const { events } = await read();
      await runtime.control.emitEvent({ type: 'deleted', containerId: 'ghost' });
      await vi.waitFor(() => expect(events.length).toBe(1));
      expect(events[0]).toMatchObject({
        containerId: 'ghost',
        containerEventType: 3,
        podSandboxStatus: undefined,
      });
    });

    it('until the stream is broken, refused or ended', async () => {
      const { ended } = await read();
      await runtime.control.breakEventStreams();
      expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
      const next = () =>
        new Promise((resolve) => {
          const stream = client.getContainerEvents({});
          stream.on('error', resolve).on('end', () => resolve('ended'));
          stream.resume();
        });
      await runtime.control.setFaults({ events: 'unimplemented' });
      expect(await next()).toMatchObject({ code: status.UNIMPLEMENTED });
      await runtime.control.setFaults({ events: 'ended' });
      expect(await next()).toBe('ended');
    });
  });
});
