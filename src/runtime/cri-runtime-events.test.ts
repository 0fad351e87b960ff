import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';
import { CriRuntimeHarness, kubernetesLabels } from '../testing/cri-runtime-harness.js';
import { FakeClock } from '../testing/fake-clock.js';
import { untilTrue } from '../testing/until-true.js';
import { hasCode } from '../util/errors.js';

describe('watching events', () => {
  it('hands out what the runtime says happened, until it ends the stream', async () => {
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
    expect(seen).toEqual([
      { type: 'started', containerId: 'c1', podUid: 'u1', createdAtNs: 7n },
      { type: 'stopped', containerId: 'c2', podUid: 'by-hand', createdAtNs: 0n },
      { type: 'deleted', containerId: 'sb', podUid: undefined, createdAtNs: 0n },
      { type: 'unknown', containerId: 'c3', podUid: 'u2', createdAtNs: 0n },
    ]);
    expect(runtime.counters.unknownEnums).toBe(1);
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
