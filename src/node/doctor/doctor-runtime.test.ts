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

it('measures how much of a list is about one sandbox', async () => {
  const annotations = { note: 'x'.repeat(10_000) };
  const world: CriWorld = {
    sandboxes: [listedSandbox('u1'), listedSandbox('u2', 0, { annotations })],
    containers: [
      listedContainer('u1', 'a'),
      ...['a', 'b'].map((name) => listedContainer('u2', name, { annotations })),
    ],
  };
  await using server = await CriTestServer.start({ handlers: listing(world) });
  const runtime = new DoctorRuntime({ endpoint: server.endpoint, clock: new SystemClock() });
  try {
    const pod = { uid: 'u2', namespace: 'default', name: 'pod-u2' };
    const sandbox = await runtime.measurePart('ListPodSandbox', 's-u2-0', LIMITS);
    expect(sandbox).toMatchObject({ pod, items: 1 });
    expect(sandbox.bytes).toBeGreaterThan(10_000);
    const containers = await runtime.measurePart('ListContainers', 's-u2-0', LIMITS);
    expect(containers).toMatchObject({ pod: undefined, items: 2 });
    expect(containers.bytes).toBeGreaterThan(20_000);
    expect((await runtime.measurePart('ListContainers', 's-u1-0', LIMITS)).bytes).toBeLessThan(1_000);
  } finally {
    runtime.close();
  }
});
