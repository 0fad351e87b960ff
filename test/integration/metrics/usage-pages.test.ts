import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess } from '../podloop-process.js';
import { untilNobodyNames } from '../processes-naming.js';
import { readText } from '../../source-tree.js';
import { type Exposition, readExposition } from './exposition.js';
import { readAlerts } from './promql/alert-rules.js';
import { KUBELET_USAGE_METRICS, NOT_TOLD, OF_VERSION_2 } from './kubelet-usage-metrics.js';

interface Summary {
  readonly node: object;
  readonly pods: readonly {
    readonly containers: readonly { readonly name: string }[];
    readonly volume?: readonly { readonly name: string; readonly usedBytes: number }[];
  }[];
}

/** Where the memory of groups is counted by a tree of version 1. */
const IS_VERSION_1 = existsSync('/sys/fs/cgroup/memory/memory.stat');

/** More than a block in the volume before it says that it runs. */
const SCRIPT =
  'for folder in /data /kept; do dd if=/dev/zero of=$folder/file bs=65536 count=1 2>/dev/null; done; echo there; while :; do sleep 0.2; done';

const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'kept', persistentVolumeClaim: { claimName: 'kept' } },
    ],
    containers: ['main', 'side'].map((name) => ({
      ...{ name, image: 'podloop.local/host', command: ['sh', '-c', SCRIPT] },
      volumeMounts: ['data', 'kept'].map((volume) => ({ name: volume, mountPath: `/${volume}` })),
      // Without one a runtime does not tell how much swap there may be.
      resources: { limits: { memory: '64Mi' } },
    })),
  },
};

describe('the pages about usage of a running agent', () => {
  let folder: string;
  let api: LocalApiClient;
  let agent: PodloopProcess;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-pages-test-'));
    await mkdir(join(folder, 'manifests'));
    await writeFile(join(folder, 'manifests/web.json'), JSON.stringify(POD));
    api = new LocalApiClient(join(folder, 'node/podloop.sock'));
    agent = new PodloopProcess([
      ...['run', join(folder, 'manifests'), '--root-dir', join(folder, 'node'), '--node-name', 'test'],
      ...['--pod-logs-dir', join(folder, 'logs'), '--runtime-endpoint', 'embedded', '--stop-pods'],
      ...['--volume-stats-agg-period', '500ms'],
    ]);
    await agent.line('stderr', /Started node agent/);
    await vi.waitFor(async () => expect(await runningContainers()).toEqual(['main', 'side']), 30_000);
  });

  afterAll(async () => {
    agent.child.kill('SIGTERM');
    await agent.ended;
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  });

  async function read(path: string): Promise<Exposition> {
    const { code, text } = await api.ask(path);
    expect([code, text]).toEqual([200, text]);
    return readExposition(text);
  }

  async function runningContainers(): Promise<string[]> {
    const { samples } = await read('/metrics/resource');
    const started = samples.filter(({ name }) => name === 'container_start_time_seconds');
    return started.map(({ labels }) => labels['container']!).sort();
  }

  it.each(['/metrics/resource', '/metrics/cadvisor'] as const)(
    '%s has what a kubelet has there, with its types and labels',
    async (path) => {
      const { samples, types } = await read(path);
      for (const [name, type, labels] of KUBELET_USAGE_METRICS[path]) {
        if (NOT_TOLD.has(name) || (IS_VERSION_1 && OF_VERSION_2.has(name))) continue;
        const own = samples.filter((sample) => sample.name === name);
        expect([name, types.get(name)]).toEqual([name, type]);
        for (const sample of own)
          expect([name, Object.keys(sample.labels).sort()]).toEqual([name, [...labels]]);
        for (const sample of own) expect(sample.value, name).toBeGreaterThanOrEqual(0);
      }
    },
  );

  it('/stats/summary tells of the node, its pods, their containers, volumes and logs', async () => {
    await vi.waitFor(async () => expect(await volumeOf('data')).toBeDefined(), 30_000);
    await vi.waitFor(async () => expect(await volumeOf('kept')).toBeDefined(), 30_000);
    const { node, pods } = (await api.json('/stats/summary')) as Summary;
    const amount = expect.any(Number) as number;
    const disk = { capacityBytes: amount, availableBytes: amount, inodes: amount };
    expect(node).toMatchObject({
      nodeName: 'test',
      cpu: { usageCoreNanoSeconds: amount },
      memory: { workingSetBytes: amount, availableBytes: amount },
      fs: { ...disk, usedBytes: amount },
      runtime: { imageFs: disk, containerFs: disk },
      rlimit: { maxpid: amount, curproc: amount },
    });
    expect(pods).toHaveLength(1);
    expect(pods[0]).toMatchObject({
      podRef: { namespace: 'default', name: 'web-test', uid: expect.any(String) as string },
      cpu: { usageCoreNanoSeconds: amount, usageNanoCores: amount },
      memory: { workingSetBytes: amount },
      'ephemeral-storage': { ...disk, usedBytes: amount },
      process_stats: { process_count: amount },
    });
    const [main] = [...pods[0]!.containers].sort((one, other) => (one.name < other.name ? -1 : 1));
    expect(main).toMatchObject({
      name: 'main',
      startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
      rootfs: { ...disk, usedBytes: amount },
      logs: { ...disk, usedBytes: amount },
    });
    const [data, kept] = [await volumeOf('data'), await volumeOf('kept')];
    expect(data).toMatchObject({ ...disk, usedBytes: amount, inodesUsed: 2 });
    expect(data).not.toHaveProperty('pvcRef');
    expect(kept).toMatchObject({ ...disk, pvcRef: { namespace: 'default', name: 'kept' }, inodesUsed: 2 });
    for (const volume of [data, kept]) expect(volume!.usedBytes).toBeGreaterThanOrEqual(65_536);
  });

  async function volumeOf(wanted: string): Promise<{ readonly usedBytes: number } | undefined> {
    const { pods } = (await api.json('/stats/summary')) as Summary;
    return pods[0]?.volume?.find(({ name }) => name === wanted);
  }

  it('/metrics has how full the volumes of claims are', async () => {
    const labels = { namespace: 'default', persistentvolumeclaim: 'kept' };
    const find = async (stat: string): Promise<number> => {
      const { samples } = await read('/metrics');
      const found = samples.find(({ name }) => name === `kubelet_volume_stats_${stat}`);
      expect(found?.labels).toEqual(labels);
      return found!.value;
    };
    await vi.waitFor(async () => expect(await find('used_bytes')).toBeGreaterThanOrEqual(65_536), 30_000);
    expect(await find('inodes_used')).toBe(2);
    expect(await find('capacity_bytes')).toBeGreaterThan(await find('available_bytes'));
    expect(await find('inodes')).toBeGreaterThan(await find('inodes_free'));
  });

  it('tells of each pod and container, the pod being what they use together', async () => {
    const { samples } = await read('/metrics/resource');
    const valueOf = (name: string, container?: string): number =>
      samples.find((sample) => sample.name === name && sample.labels['container'] === container)?.value ??
      NaN;
    const cpu = ['main', 'side'].map((name) => valueOf('container_cpu_usage_seconds_total', name));
    expect(valueOf('pod_cpu_usage_seconds_total')).toBeGreaterThanOrEqual(Math.max(...cpu));
    expect(valueOf('node_cpu_usage_seconds_total')).toBeGreaterThan(valueOf('pod_cpu_usage_seconds_total'));
    expect(valueOf('scrape_error')).toBe(0);
  });
});

it('docs/reference/usage-pages.md names all that is on /metrics/resource, and what of cAdvisor’s is not told', () => {
  const page = readText('docs/reference/usage-pages.md');
  const names = [...KUBELET_USAGE_METRICS['/metrics/resource'].map(([name]) => name), ...NOT_TOLD.keys()];
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it.each(['alerts.yaml', 'observe-alerts.yaml'])(
  'each alert of %s has a section that says what to do',
  (file) => {
    const page = 'docs/guides/monitor.md';
    const sections = readText(page).split(/^#{2,3} /m);
    for (const { alert, annotations } of readAlerts(file)) {
      const [heading = '', ...words] = (
        sections.find((section) => new RegExp(`^.*\\b${alert}\\b`).test(section)) ?? ''
      ).split('\n');
      expect(words.join(' ').trim(), alert).not.toBe('');
      // GitHub's anchor of a heading.
      const anchor = heading.toLowerCase().replaceAll(',', '').replaceAll(' ', '-');
      expect(annotations['runbook_url'], alert).toBe(`${page}#${anchor}`);
    }
  },
);
