import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import {
  type CriWorld,
  listedContainer,
  listedSandbox,
  listing,
} from '#support/harness/cri-runtime-harness.js';
import { DoctorRuntime } from './doctor-runtime.js';

const LIMITS = { signal: new AbortController().signal, timeoutMs: 60_000 };
const REFUSED = {
  code: status.RESOURCE_EXHAUSTED,
  details: 'grpc: trying to send message larger than max (18892738 vs. 16777216)',
};

it('measures lists that the runtime refuses as a whole in parts, with the share of each pod', async () => {
  const annotations = { note: 'x'.repeat(5 * 2 ** 20) };
  const world: CriWorld = {
    sandboxes: [listedSandbox('u1', 0, { annotations }), listedSandbox('u2', 0, { state: 1, annotations })],
    containers: ['u1', 'u2'].map((uid) => listedContainer(uid, 'a', { annotations })),
  };
  const { listPodSandbox, listContainers } = listing(world);
  await using server = await CriTestServer.start({
    handlers: {
      listPodSandbox: (call, callback) =>
        call.request.filter === undefined ? callback(REFUSED) : listPodSandbox!(call, callback),
      listContainers: (call, callback) =>
        call.request.filter === undefined ? callback(REFUSED) : listContainers!(call, callback),
    },
  });
  const runtime = new DoctorRuntime({ endpoint: server.endpoint, clock: new SystemClock() });
  try {
    for (const { bytes, items } of [
      await runtime.listSandboxes(LIMITS),
      await runtime.listContainers(LIMITS),
    ]) {
      expect(bytes).toBeGreaterThan(10 * 2 ** 20);
      expect(items).toHaveLength(2);
      for (const item of items) expect(item.bytes).toBeGreaterThan(5 * 2 ** 20);
    }
  } finally {
    runtime.close();
  }
});
