import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';
import { type RuntimeEvent } from './runtime.js';
import { CriRuntimeHarness, kubernetesLabels } from '#support/harness/cri-runtime-harness.js';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '#support/until-true.js';
import { hasCode } from '#base/errors/errors.js';

describe('watching events', () => {
  it("passes on the runtime's events until it ends the stream", async () => {
    await using h = await CriRuntimeHarness.start({
      getContainerEvents: (call) => {
        const status = { id: 'sb', metadata: { uid: 'by-hand' } };
        const events: cri.DeepPartial<cri.ContainerEventResponse>[] = [
          {
            containerId: 'c1',
            containerEventType: 1,
            createdAt: 7n,
            podSandboxStatus: { ...status, labels: kubernetesLabels('u1') },
          },
          { containerId: 'c2', containerEventType: 2, podSandboxStatus: status },
          { containerId: 'sb', containerEventType: 3 },
          {
            containerId: 'c3',
            containerEventType: 44 as never,
            containersStatuses: [{ labels: kubernetesLabels('u2') }],
          },
        ];
        for (const event of events) call.write(cri.ContainerEventResponse.create(event));
        call.end();
      },
    });
    const { runtime } = h;
    const seen: unknown[] = [];
    let opened = 0;
    const handlers = { onOpen: () => opened++, onEvent: (event: unknown) => seen.push(event) };
    await runtime.watchEvents(handlers, new AbortController().signal);
    expect(opened).toBe(1);
    const statuses: unknown = expect.any(Function);
    expect(seen).toEqual([
      { type: 'started', containerId: 'c1', podUid: 'u1', createdAtNs: 7n, statuses },
      { type: 'stopped', containerId: 'c2', podUid: 'by-hand', createdAtNs: 0n, statuses },
      { type: 'deleted', containerId: 'sb', podUid: undefined, createdAtNs: 0n },
      { type: 'unknown', containerId: 'c3', podUid: 'u2', createdAtNs: 0n },
    ]);
    expect(runtime.counters.unknownEnums).toBe(1);
  });

  it('passes on the pod status in an event, in the form in which the runtime would answer it', async () => {
    const labels = kubernetesLabels('u1');
    const sandbox = { id: 'sb', metadata: { uid: 'u1', name: 'web', attempt: 1 }, createdAt: 5n, labels };
    const container = {
      id: 'c1',
      metadata: { name: 'main' },
      state: 1 as const,
      createdAt: 7n,
      startedAt: 8n,
      labels,
    };
    const podSandboxStatus = cri.PodSandboxStatus.create({ ...sandbox, network: { ip: '10.0.0.7' } });
    const containerStatus = cri.ContainerStatus.create(container);
    await using h = await CriRuntimeHarness.start({
      listPodSandbox: (_, reply) => reply(null, cri.ListPodSandboxResponse.create({ items: [sandbox] })),
      listContainers: (_, reply) => {
        const containers = [{ ...container, podSandboxId: 'sb' }];
        reply(null, cri.ListContainersResponse.create({ containers }));
      },
      podSandboxStatus: (_, reply) =>
        reply(null, cri.PodSandboxStatusResponse.create({ status: podSandboxStatus })),
      containerStatus: (_, reply) =>
        reply(null, cri.ContainerStatusResponse.create({ status: containerStatus })),
      getContainerEvents: (call) => {
        const event = { containerId: 'c1', podSandboxStatus, containersStatuses: [containerStatus] };
        call.write(cri.ContainerEventResponse.create(event));
        call.end();
      },
    });
    const events: RuntimeEvent[] = [];
    const { signal } = new AbortController();
    await h.runtime.watchEvents({ onEvent: (event) => events.push(event) }, signal);
    const [pod] = await h.runtime.listPods();
    const { sandboxes, containers } = await h.runtime.getPodStatus(pod!);
    expect(events[0]!.statuses!()).toEqual({ sandboxes, containers });
    expect(containers).toMatchObject([{ id: 'c1', sandboxId: 'sb', state: 'running' }]);
  });

  it('has no deadline, and ends with the reason of its signal', async () => {
    const clock = new FakeClock();
    await using h = await CriRuntimeHarness.start({ getContainerEvents: () => undefined }, { clock });
    const { runtime, client } = h;
    const controller = new AbortController();
    const watch = runtime.watchEvents({ onEvent: () => undefined }, controller.signal);
    await untilTrue(() => client.connectionState === 'ready');
    expect(clock.pendingTimers).toBe(0);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(watch).rejects.toBe(reason);
  });

  it('rejects with CRI_UNIMPLEMENTED where the runtime has no events, and CRI_UNAVAILABLE when it is killed', async () => {
    const signal = new AbortController().signal;
    await using none = await CriRuntimeHarness.start({});
    await expect(none.runtime.watchEvents({ onEvent: () => undefined }, signal)).rejects.toMatchObject({
      code: 'CRI_UNIMPLEMENTED',
    });
    await using h = await CriRuntimeHarness.start({ getContainerEvents: () => undefined });
    const { runtime, client, server } = h;
    const watch = runtime.watchEvents({ onEvent: () => undefined }, signal);
    const outcome = watch.catch((error: unknown) => error);
    await untilTrue(() => client.connectionState === 'ready');
    await server.kill();
    expect(hasCode(await outcome, 'CRI_UNAVAILABLE')).toBe(true);
  });
});
