/**
 * The pages /metrics and /metrics/probes of a running agent, held against what a kubelet has there, against the
 * documentation, and against what promtool would say.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findMetricsFaults, type PageFamily, readMetricsPage } from '#support/builders/metrics-page.js';
import { CONTAINER_METRICS, NETWORK_METRICS } from '#base/proc/usage/container-metrics.js';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess } from '../podloop-process.js';
import { untilNobodyNames } from '../processes-naming.js';
import {
  chaptersOf,
  type KubeletMetric,
  namesInTables,
  readKubeletMetrics,
} from './kubelet-agent-metrics.js';
import { KUBELET_USAGE_METRICS } from './kubelet-usage-metrics.js';

type Page = ReadonlyMap<string, PageFamily>;

const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
const IMAGE = 'podloop.local/host';

function podOf(name: string, spec: object): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: { terminationGracePeriodSeconds: 1, ...spec },
  };
}

const mainOf = (script: string, more: object = {}): object => ({
  ...{ name: 'main', image: IMAGE, command: ['sh', '-c', script], ...more },
});

/** Between them they do most of what is counted. */
const PODS = [
  podOf('web', {
    initContainers: [{ ...mainOf('exit 0'), name: 'init' }],
    containers: [mainOf(STAY, { livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } })],
    volumes: [
      { name: 'empty', emptyDir: {} },
      { name: 'projected', projected: { sources: [] } },
    ],
  }),
  podOf('failing', {
    restartPolicy: 'Never',
    containers: [mainOf('exit 2', { imagePullPolicy: 'IfNotPresent' })],
  }),
  podOf('pulling', { containers: [mainOf(STAY, { image: 'no.such/image:1' })] }),
  podOf('never', { containers: [mainOf(STAY, { image: 'no.such/image:2', imagePullPolicy: 'Never' })] }),
];

/** Values that a kubelet has as well, and that it had not used when its pages were read, or are of podloop alone. */
const MORE_VALUES: Readonly<Record<string, readonly string[]>> = {
  operation_type: [
    ...['attach', 'image_fs_info', 'port_forward', 'remove_image', 'runtime_config', 'update_container'],
    ...['reopen_container_log', 'update_runtime_config', 'list_podsandbox_stats', 'kill'],
    ...['stream_containers', 'stream_podsandboxes', 'stream_images'],
  ],
  probe_type: ['Readiness', 'Startup'],
  result: ['failed', 'unknown', 'credentialRecordFound'],
  code: ['ErrImageNeverPull', 'CreateContainerError', 'ImageInspectError', 'RegistryUnavailable'],
  method: ['HEAD', 'POST'],
  server_type: ['socket', 'healthz'],
  pull_policy: ['always'],
};

let folder: string;
let agent: PodloopProcess;
let metrics: Page;
let probes: Page;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-metrics-test-'));
  const manifests = join(folder, 'manifests');
  await mkdir(manifests);
  await writeFile(
    join(manifests, 'pods.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: PODS }),
  );
  agent = new PodloopProcess([
    ...['run', manifests, '--root-dir', join(folder, 'node'), '--node-name', 'test', '--stop-pods'],
    ...['--pod-logs-dir', join(folder, 'logs'), '--runtime-endpoint', 'embedded'],
    ...['--isolation', 'none', '--network', 'host'],
  ]);
  await agent.line('stderr', /Started node agent/);
  const api = new LocalApiClient(join(folder, 'node/podloop.sock'));
  const read = async (path: string): Promise<Page> => readMetricsPage((await api.ask(path)).text);
  const exec = '/api/v1/namespaces/default/pods/web-test/exec?command=true&container=main&stdout=true';
  await vi.waitFor(async () => api.stream(exec, ['v5.channel.k8s.io']), { timeout: 45_000, interval: 300 });
  await vi.waitFor(
    async () => {
      metrics = await read('/metrics');
      probes = await read('/metrics/probes');
      const missing = [...metrics.values(), ...probes.values()].filter(({ samples }) => samples.length === 0);
      expect(missing.map(({ name }) => name).filter((name) => !MAY_BE_EMPTY.has(name))).toEqual([]);
      const codes = metrics
        .get('kubelet_started_containers_errors_total')!
        .samples.map(({ labels }) => labels['code']);
      expect(codes).toContain('ErrImageNeverPull');
      // The page is good when all that is held against it has been counted: this end comes as late as it likes.
      expect(valueOf('kubelet_terminated_containers_total', ENDED_WITH_2)).toBe(1);
    },
    { timeout: 45_000, interval: 300 },
  );
});

afterAll(async () => {
  await agent.end('SIGTERM');
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

const ENDED_WITH_2 = { container_type: 'container', exit_code: '2', reason: 'Error' };

/** A number of /metrics, of a series with these labels and no others. */
function valueOf(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  return metrics
    .get(name.replace(/_(count|sum)$/, ''))
    ?.samples.find((sample) => sample.name === name && isSame(sample.labels, labels))?.value;
}

/** What these pods do not come to. */
const MAY_BE_EMPTY = new Set([
  // Nobody asks for /stats/summary, and no pod goes.
  ...['kubelet_volume_metric_collection_duration_seconds', 'kubelet_sleep_action_terminated_early_total'],
  // No pod has claimed a volume.
  ...['available_bytes', 'capacity_bytes', 'inodes', 'inodes_free', 'inodes_used', 'used_bytes'].map(
    (stat) => `kubelet_volume_stats_${stat}`,
  ),
  // Nobody names a plugin for credentials of registries.
  ...['kubelet_credential_provider_plugin_duration', 'kubelet_credential_provider_plugin_errors_total'],
  'kubelet_credential_provider_config_info',
  // Everything fits.
  ...['kubelet_admission_rejections_total', 'kubelet_preemptions'],
  ...['kubelet_eviction_stats_age_seconds', 'kubelet_image_garbage_collected_total'],
  // No port with TLS, and no cluster.
  ...['podloop_certificate_end_time_seconds', 'podloop_certificate_renewal_time_seconds'],
  ...['kubelet_evictions', 'kubelet_restarted_pods_total', 'kubelet_image_pull_duration_seconds'],
  ...['kubelet_run_podsandbox_errors_total', 'podloop_config_changes_folded_total'],
  ...[
    'podloop_config_look_errors_total',
    'podloop_metrics_read_errors_total',
    'podloop_metrics_listener_errors_total',
  ],
  ...['podloop_pod_worker_errors_total', 'podloop_runtime_operations_abandoned_total'],
  ...['podloop_runtime_operations_timeouts_total', 'podloop_runtime_operations_in_flight'],
  ...['podloop_runtime_operations_oldest_in_flight_seconds', 'podloop_http_connections_dropped_total'],
]);

const DOC = 'docs/reference/metrics.md';
const chapters = chaptersOf(DOC);
const notServed = new Set(namesInTables(chapters.get('Not served')!));

function pageOf({ page }: KubeletMetric): Page {
  return page === '/metrics' ? metrics : probes;
}

describe('every metric that a kubelet has on /metrics and /metrics/probes', () => {
  it('is served, or the documentation says why not', () => {
    const lost = readKubeletMetrics().filter(
      (each) => pageOf(each).has(each.name) === notServed.has(each.name),
    );
    expect(lost.map(({ name }) => name)).toEqual([]);
    const known = new Set(readKubeletMetrics().map(({ name }) => name));
    expect([...notServed].filter((name) => !known.has(name))).toEqual([]);
  });

  it('has the same type and the same labels, with values of the same kind', () => {
    for (const metric of readKubeletMetrics()) {
      const { name, type, labels } = metric;
      const family = pageOf(metric).get(name);
      if (family === undefined) continue;
      expect([name, family.type]).toEqual([name, type]);
      for (const sample of family.samples) {
        const { le: _le, ...own } = sample.labels;
        expect([name, ...Object.keys(own).sort()]).toEqual([name, ...[...labels.keys()].sort()]);
        for (const [label, value] of Object.entries(own)) {
          const known = labels.get(label)!;
          if (known.length === 0) continue;
          expect([...known, ...(MORE_VALUES[label] ?? [])], `${name}{${label}}`).toContain(value);
        }
      }
    }
  });

  it('has the same buckets', () => {
    for (const metric of readKubeletMetrics()) {
      const { name, buckets } = metric;
      const samples = pageOf(metric).get(name)?.samples ?? [];
      if (metric.type !== 'histogram' || samples.length === 0) continue;
      const [first] = samples;
      const { le: _le, ...series } = first!.labels;
      const own = samples
        .filter(({ labels: { le, ...labels } }) => le !== undefined && isSame(labels, series))
        .map(({ labels }) => labels['le']!);
      expect([name, ...own.slice(0, -1).map(Number), own.at(-1)]).toEqual([name, ...buckets, '+Inf']);
    }
  });
});

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
}

describe('the pages', () => {
  it('have what the documentation explains, and nothing else', () => {
    const explained = [...chapters]
      .filter(([heading]) => /^(As the kubelet has them|Probes|podloop's own)$/.test(heading))
      .flatMap(([, body]) => namesInTables(body));
    const served = [...metrics.keys(), ...probes.keys()];
    expect([...new Set(explained)].sort()).toEqual([...new Set(served)].sort());
  });

  it('about usage are explained, too, each name that a kubelet has there or that podloop makes', () => {
    const explained = new Set(namesInTables(chapters.get('What containers, pods and the node use')!));
    const names = Object.values(KUBELET_USAGE_METRICS).flatMap((rows) => rows.map(([name]) => name));
    const ours = [...CONTAINER_METRICS, ...NETWORK_METRICS].map(({ name }) => name);
    expect([...names, ...ours].filter((name) => !explained.has(name))).toEqual([]);
  });

  it('have faults by promtool’s rules in names alone that are the kubelet’s', () => {
    const kubelets = new Set([
      ...readKubeletMetrics().map(({ name }) => name),
      'kubelet_evictions',
      'kubelet_preemptions',
    ]);
    const faults = [metrics, probes].flatMap((page) => findMetricsFaults(page));
    expect(faults.filter((fault) => !kubelets.has(fault.split(' ')[0]!))).toEqual([]);
  });

  it('have no id of a pod or container in a label, but for the uids that the kubelet has on probes', () => {
    const values = [...metrics.values(), ...probes.values()].flatMap(({ samples }) =>
      samples.flatMap(({ labels: { pod_uid: _uid, ...labels } }) => Object.values(labels)),
    );
    expect(values.filter((value) => /[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-/.test(value))).toEqual([]);
  });

  it('count what the pods of this test have done', () => {
    expect(valueOf('kubelet_desired_pods', { static: 'true' })).toBe(4);
    expect(valueOf('kubelet_started_containers_total', { container_type: 'init_container' })).toBe(1);
    expect(valueOf('kubelet_terminated_containers_total', ENDED_WITH_2)).toBe(1);
    const empty = { plugin_name: 'kubernetes.io/empty-dir', state: 'actual_state_of_world' };
    expect(valueOf('volume_manager_total_volumes', empty)).toBe(1);
    expect(valueOf('kubelet_websocket_streaming_requests_total', { subresource: 'exec' })).toBeGreaterThan(0);
    expect(valueOf('kubelet_pleg_relist_duration_seconds_count')).toBeGreaterThan(0);
    expect(valueOf('podloop_pleg_healthy')).toBe(1);
    const [probed] = probes.get('prober_probe_total')!.samples;
    expect(probed).toMatchObject({
      labels: { container: 'main', pod: 'web-test', probe_type: 'Liveness', result: 'successful' },
    });
  });
});
