import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedNode, until } from './embedded-node.js';

describe('statistics of the embedded runtime', () => {
  let node: EmbeddedNode;
  let pod: string;
  let busy: string;
  let ended: string;

  beforeAll(async () => {
    node = await EmbeddedNode.start();
    pod = await node.runPod('counted', { labels: { app: 'counted' } });
    busy = await node.run(pod, 'busy', 'while :; do :; done', { labels: { kind: 'busy' } });
    ended = await node.run(pod, 'ended', 'exit 0', { labels: { kind: 'ended' } });
    await node.exited(ended);
  });

  afterAll(async () => {
    await node[Symbol.asyncDispose]();
  });

  it('show the CPU time, the memory and the files of a container', async () => {
    const { stats } = await until(
      () => node.client.containerStats({ containerId: busy }),
      ({ stats: answer }) => (answer?.cpu?.usageCoreNanoSeconds?.value ?? 0n) > 50_000_000n,
    );
    expect(stats?.attributes).toMatchObject({
      id: busy,
      metadata: { name: 'busy' },
      labels: { kind: 'busy' },
    });
    expect(stats?.cpu?.timestamp).toBeGreaterThan(0n);
    // A single loop cannot use more than one core, give or take the grain of the counters.
    expect(stats?.cpu?.usageNanoCores?.value).toBeGreaterThan(0n);
    expect(stats?.cpu?.usageNanoCores?.value).toBeLessThan(1_500_000_000n);
    expect(stats?.memory?.workingSetBytes?.value).toBeGreaterThan(0n);
    expect(stats?.memory?.usageBytes?.value).toBeGreaterThan(0n);
    expect(stats?.memory?.pageFaults?.value).toBeGreaterThan(0n);
    expect(stats?.writableLayer?.timestamp).toBeGreaterThan(0n);
  });

  it('show no use of a container that has ended, and know no other', async () => {
    const { stats } = await node.client.containerStats({ containerId: ended });
    expect(stats?.attributes?.id).toBe(ended);
    expect(stats?.cpu).toBeUndefined();
    expect(stats?.memory).toBeUndefined();
    await expect(node.client.containerStats({ containerId: 'f'.repeat(64) })).rejects.toThrow(
      'does not exist',
    );
    await expect(node.client.podSandboxStats({ podSandboxId: 'f'.repeat(64) })).rejects.toThrow(
      'does not exist',
    );
  });

  it.each([
    ['no filter', {}, ['busy', 'ended']],
    ['a pod', { pod: true }, ['busy', 'ended']],
    ['labels', { labelSelector: { kind: 'ended' } }, ['ended']],
    ['an id', { id: true }, ['busy']],
    ['labels that nobody has', { labelSelector: { kind: 'other' } }, []],
  ] as const)('are listed and streamed by %s', async (_what, wanted, names) => {
    const filter = {
      id: 'id' in wanted ? busy : '',
      podSandboxId: 'pod' in wanted ? pod : '',
      labelSelector: 'labelSelector' in wanted ? wanted.labelSelector : {},
    };
    const { stats } = await node.client.listContainerStats({ filter });
    expect(stats.map(({ attributes }) => attributes?.metadata?.name)).toEqual(names);
    const streamed = [];
    for await (const { containerStats } of node.client.streamContainerStats({ filter })) {
      streamed.push(...containerStats);
    }
    expect(streamed.map(({ attributes }) => attributes?.metadata?.name)).toEqual(names);
  });

  it('of a pod are those of its containers together', async () => {
    const { stats } = await node.client.podSandboxStats({ podSandboxId: pod });
    expect(stats?.attributes).toMatchObject({
      id: pod,
      metadata: { name: 'counted' },
      labels: { app: 'counted' },
    });
    expect(stats?.linux?.cpu?.usageCoreNanoSeconds?.value).toBeGreaterThan(0n);
    expect(stats?.linux?.memory?.usageBytes?.value).toBeGreaterThan(0n);
    expect(stats?.linux?.process?.processCount?.value).toBeGreaterThan(0n);
    expect(stats?.linux?.containers.map(({ attributes }) => attributes?.id)).toEqual([busy, ended]);
    const listed = await node.client.listPodSandboxStats({
      filter: { id: '', labelSelector: { app: 'counted' } },
    });
    expect(listed.stats.map(({ attributes }) => attributes?.id)).toEqual([pod]);
    const none = await node.client.listPodSandboxStats({ filter: { id: '', labelSelector: { app: 'x' } } });
    expect(none.stats).toEqual([]);
    const streamed = [];
    for await (const { podSandboxStats } of node.client.streamPodSandboxStats({}))
      streamed.push(...podSandboxStats);
    expect(streamed.map(({ attributes }) => attributes?.id)).toEqual([pod]);
  });

  it('are metrics, too, each of them described, with a value for every label', async () => {
    const { descriptors } = await node.client.listMetricDescriptors({});
    const labelsOf = new Map(descriptors.map(({ name, labelKeys }) => [name, labelKeys]));
    expect(labelsOf.size).toBe(descriptors.length);
    for (const { help } of descriptors) expect(help).not.toBe('');
    const { podMetrics } = await node.client.listPodSandboxMetrics({});
    const [metrics] = podMetrics;
    expect(metrics?.podSandboxId).toBe(pod);
    expect(metrics?.containerMetrics.map(({ containerId }) => containerId)).toEqual([busy]);
    const values = metrics?.containerMetrics[0]?.metrics ?? [];
    for (const { name, labelValues, timestamp } of values) {
      expect(labelValues.length, name).toBe(labelsOf.get(name)?.length);
      expect(timestamp).toBeGreaterThan(0n);
    }
    const read = (name: string): bigint | undefined =>
      values.find((each) => each.name === name)?.value?.value;
    expect(read('container_processes')).toBe(1n);
    expect(read('container_threads')).toBe(1n);
    expect(read('container_file_descriptors')).toBeGreaterThanOrEqual(3n);
    expect(read('container_memory_working_set_bytes')).toBeGreaterThan(0n);
    expect(read('container_start_time_seconds')).toBeGreaterThan(1_600_000_000n);
    expect(values.find(({ name }) => name === 'container_threads')?.labelValues).toEqual([
      'busy',
      busy,
      'podloop.local/host',
      'busy_counted_test_uid-counted_0',
      'test',
      'counted',
    ]);
    const streamed = [];
    for await (const part of node.client.streamPodSandboxMetrics({}))
      streamed.push(...part.podSandboxMetrics);
    expect(streamed.map(({ podSandboxId }) => podSandboxId)).toEqual([pod]);
  });
});
