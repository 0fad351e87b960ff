import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { cri } from '../cri/index.js';
import {
  type CriHandlers,
  CriRuntimeHarness,
  kubernetesLabels,
} from '#support/harness/cri-runtime-harness.js';
import { CriPodUsage } from './cri-pod-usage.js';

const AT_NS = 1_700_000_000_123_000_000n;
const cpu = (ns: bigint): cri.DeepPartial<cri.CpuUsage> => ({
  timestamp: AT_NS,
  usageCoreNanoSeconds: { value: ns },
});

function containerStats(uid: string, name: string, ns: bigint): cri.DeepPartial<cri.ContainerStats> {
  return {
    attributes: { id: `c-${name}`, metadata: { name, attempt: 2 }, labels: kubernetesLabels(uid) },
    cpu: cpu(ns),
    memory: {
      timestamp: AT_NS,
      workingSetBytes: { value: 10n },
      // What some runtimes report for "no limit".
      availableBytes: { value: 2n ** 64n - 11n },
    },
  };
}

async function start(handlers: CriHandlers, timeoutMs = 5_000) {
  const harness = await CriRuntimeHarness.start(handlers);
  const usage = new CriPodUsage({ client: harness.client, timeoutMs });
  return { usage, client: harness.client, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

it('reads what sandboxes and their containers use', async () => {
  const pod = cri.PodSandboxStats.fromPartial({
    attributes: {
      id: 's1',
      metadata: { uid: 'u1', name: 'web', namespace: 'shop', attempt: 3 },
    },
    linux: {
      cpu: { ...cpu(7n), usageNanoCores: { value: 5n }, psi: { Some: { Total: 9n, Avg10: 1.5 } } },
      network: {
        timestamp: AT_NS,
        defaultInterface: { name: 'eth0', rxBytes: { value: 1n } },
        interfaces: [{ name: 'eth0' }, { name: 'eth1', txErrors: { value: 4n } }],
      },
      process: { processCount: { value: 6n } },
      containers: [containerStats('u1', 'main', 3n)],
    },
  });
  await using h = await start({
    listPodSandboxStats: (_call, reply) =>
      reply(null, cri.ListPodSandboxStatsResponse.create({ stats: [pod] })),
  });
  const share = { avg60: 0, avg300: 0 };
  const pressure = { some: { ...share, avg10: 1.5, totalNs: 9 }, full: { ...share, avg10: 0, totalNs: 0 } };
  expect(await h.usage.listPods()).toMatchObject([
    {
      ...{ uid: 'u1', namespace: 'shop', name: 'web', sandboxId: 's1', attempt: 3, processes: 6 },
      cpu: { atMs: 1_700_000_000_123, totalNs: 7, nanoCores: 5, pressure },
      memory: undefined,
      network: {
        interfaces: [
          { name: 'eth0', rxBytes: 1, txErrors: undefined },
          { name: 'eth1', txErrors: 4 },
        ],
      },
      containers: [
        {
          ...{ id: 'c-main', name: 'main', attempt: 2, swap: undefined },
          memory: { workingSetBytes: 10, availableBytes: undefined, rssBytes: undefined },
        },
      ],
    },
  ]);
});

it('adds up containers where a runtime has no pod statistics, and asks it for those once per connection', async () => {
  const calls: string[] = [];
  await using h = await start({
    listPodSandboxStats: (_call, reply) => {
      calls.push('pods');
      reply({ code: status.UNIMPLEMENTED, details: 'unknown method' });
    },
    listContainerStats: (_call, reply) => {
      calls.push('containers');
      const stats = [
        containerStats('u1', 'a', 3n),
        containerStats('u2', 'c', 1n),
        containerStats('u1', 'b', 4n),
        { attributes: { id: 'by hand' }, cpu: cpu(9n) },
      ];
      reply(null, cri.ListContainerStatsResponse.fromPartial({ stats }));
    },
  });
  await h.usage.listPods();
  const pods = await h.usage.listPods();
  expect(calls).toEqual(['pods', 'containers', 'containers']);
  expect(
    pods.map(({ name, cpu: use, containers }) => [name, use?.totalNs, containers.map((c) => c.name)]),
  ).toEqual([
    ['pod-u1', 7, ['a', 'b']],
    ['pod-u2', 1, ['c']],
  ]);
});

it("reads a runtime's own metrics, and notices that it has none", async () => {
  await using none = await start({});
  expect(await none.usage.listMetrics()).toBeUndefined();
  const metric = { name: 'm', timestamp: AT_NS, metricType: cri.MetricType.GAUGE, value: { value: 2n } };
  await using h = await start({
    listMetricDescriptors: (_call, reply) =>
      reply(
        null,
        cri.ListMetricDescriptorsResponse.fromPartial({
          descriptors: [{ name: 'm', help: 'H', labelKeys: ['k'] }],
        }),
      ),
    listPodSandboxMetrics: (_call, reply) =>
      reply(
        null,
        cri.ListPodSandboxMetricsResponse.fromPartial({
          podMetrics: [
            {
              podSandboxId: 's1',
              metrics: [{ ...metric, labelValues: ['pod'] }],
              containerMetrics: [{ containerId: 'c1', metrics: [{ ...metric, labelValues: ['container'] }] }],
            },
          ],
        }),
      ),
  });
  const metrics = (await h.usage.listMetrics())!;
  expect(metrics.descriptors).toEqual(new Map([['m', { help: 'H', labelKeys: ['k'] }]]));
  const samples = [
    ['s1', 'pod'],
    ['c1', 'container'],
  ].map(([subjectId, value]) => ({
    ...{ name: 'm', subjectId, type: 'gauge', labelValues: [value], value: 2, atMs: 1_700_000_000_123 },
  }));
  const asked: string[] = [];
  const all = await metrics.readSamples((id, name) => asked.push(`${id} ${name}`) > 0);
  expect([all, asked]).toEqual([samples, ['s1 m', 'c1 m']]);
  expect(await metrics.readSamples((id) => id === 'c1')).toEqual([samples[1]]);
});

it('cancels a call that hangs, and names it', async () => {
  await using h = await start({ listPodSandboxStats: () => undefined }, 50);
  await expect(h.usage.listPods()).rejects.toMatchObject({
    code: 'CRI_DEADLINE_EXCEEDED',
    message: expect.stringContaining('list_podsandbox_stats') as string,
  });
});

it('reports an invalid answer as one that cannot be decoded', async () => {
  await using harness = await CriRuntimeHarness.start(
    {},
    { raw: { listPodSandboxStats: () => Buffer.from([10, 200]) } },
  );
  const usage = new CriPodUsage({ client: harness.client, timeoutMs: 5_000 });
  await expect(usage.listPods()).rejects.toMatchObject({ code: 'CRI_MALFORMED_RESPONSE' });
  expect(harness.client.counters.malformedMessages).toBe(1);
});
