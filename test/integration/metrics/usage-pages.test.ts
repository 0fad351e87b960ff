import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess } from '../podloop-process.js';
import { type Exposition, readExposition } from './exposition.js';
import { KUBELET_USAGE_METRICS, NOT_TOLD } from './kubelet-usage-metrics.js';

const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: ['main', 'side'].map((name) => ({
      ...{ name, image: 'podloop.local/host', command: ['sh', '-c', 'while :; do sleep 0.2; done'] },
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
    ]);
    await agent.line('stderr', /Started node agent/);
    await vi.waitFor(async () => expect(await runningContainers()).toEqual(['main', 'side']), 30_000);
  });

  afterAll(async () => {
    agent.child.kill('SIGTERM');
    await agent.ended;
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
        if (NOT_TOLD.has(name)) continue;
        const own = samples.filter((sample) => sample.name === name);
        expect([name, types.get(name)]).toEqual([name, type]);
        for (const sample of own)
          expect([name, Object.keys(sample.labels).sort()]).toEqual([name, [...labels]]);
        for (const sample of own) expect(sample.value, name).toBeGreaterThanOrEqual(0);
      }
    },
  );

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
