import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { type KubeList } from '../../../src/cluster/client/kube-objects.js';
import { type KubeClient } from '../../../src/cluster/client/kube-client.js';
import { makeCertificate } from '../../../src/node/api/tls/make-certificate.js';
import { askPort } from '#support/clients/tcp-client.js';

const GROUP_VERSION = 'metrics.k8s.io/v1beta1';
const HOUR_MS = 3_600_000;

/** What is known of a container, or of the node, at one time. */
interface Point {
  atMs: number;
  cpuSeconds: number;
  memoryBytes: number;
  startedAtSeconds?: number;
}
/** By `node`, or by `namespace/pod/container`. */
type Points = ReadonlyMap<string, Point>;

interface Node {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly daemonEndpoints: { readonly kubeletEndpoint: { readonly Port: number } };
  };
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)(?: (\d+))?$/;
const NODE = 'node';

/**
 * Serves `metrics.k8s.io` as metrics-server does, as an aggregated API server: from two readings of a node's
 * `/metrics/resource`, of the same series, at the port that the Node tells and with the token of a service account. What
 * was not read it does not know.
 */
export class ResourceMetricsApi implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #token: string;
  readonly #server: Server;
  readonly #readings = new Map<string, { before: Points | undefined; last: Points }>();

  static async start(client: KubeClient, token: string): Promise<ResourceMetricsApi> {
    const [validFrom, validTo] = [new Date(Date.now() - HOUR_MS), new Date(Date.now() + HOUR_MS)];
    const names = { commonName: 'metrics', purpose: 'server', hosts: ['localhost'] } as const;
    const { cert, key } = await makeCertificate({ ...names, validFrom, validTo });
    const api = new ResourceMetricsApi(client, token, createServer({ cert, key }));
    api.#server.listen(0);
    await once(api.#server, 'listening');
    return api;
  }

  private constructor(client: KubeClient, token: string, server: Server) {
    this.#client = client;
    this.#token = token;
    this.#server = server;
    server.on('request', (request, response) => {
      const body = this.#answer((request.url ?? '').split('?')[0]!);
      response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Reads every node once. Rejects with what a node answers instead of a page. */
  async scrape(): Promise<void> {
    const { items = [] } = await this.#client.request<KubeList<Node>>({
      method: 'GET',
      path: '/api/v1/nodes',
    });
    for (const { metadata, status } of items) {
      const address = status.addresses.find(({ type }) => type === 'InternalIP')?.address ?? '';
      const { code, text } = await askPort(status.daemonEndpoints.kubeletEndpoint.Port, '/metrics/resource', {
        ...{ host: address, tls: {}, headers: { Authorization: `Bearer ${this.#token}` } },
      });
      if (code !== 200) throw new Error(`request failed, status: ${code} ${text}`);
      const before = this.#readings.get(metadata.name)?.last;
      this.#readings.set(metadata.name, { before, last: readPoints(text) });
    }
  }

  /** What was read last of a node. */
  pointsOf(nodeName: string): Points | undefined {
    return this.#readings.get(nodeName)?.last;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(path: string): object | undefined {
    const [, , , , ...rest] = path.split('/');
    if (!path.startsWith(`/apis/${GROUP_VERSION}`)) return undefined;
    const names = rest.join('/');
    if (names === '') return RESOURCES;
    if (names === 'nodes') return { ...list('NodeMetricsList'), items: this.#nodes() };
    const node = /^nodes\/(.+)$/.exec(names)?.[1];
    if (node !== undefined) return this.#nodes().find(({ metadata }) => metadata.name === node);
    const [, namespace, name] = /^(?:namespaces\/([^/]+)\/)?pods(?:\/(.+))?$/.exec(names) ?? [];
    const pods = this.#pods().filter(({ metadata }) => [undefined, metadata.namespace].includes(namespace));
    if (name !== undefined) return pods.find(({ metadata }) => metadata.name === name);
    return { ...list('PodMetricsList'), items: pods };
  }

  #nodes() {
    return [...this.#readings].flatMap(([name, reading]) => {
      const used = usageOf(reading, NODE);
      return used === undefined ? [] : [{ metadata: { name }, ...used }];
    });
  }

  /** A pod of which one container is not known is not known. */
  #pods() {
    return [...this.#readings.values()].flatMap((reading) => {
      const pods = new Map<string, string[]>();
      for (const key of reading.last.keys()) {
        const pod = key.slice(0, key.lastIndexOf('/'));
        if (key !== NODE) pods.set(pod, [...(pods.get(pod) ?? []), key]);
      }
      return [...pods].flatMap(([pod, keys]) => {
        const [namespace = '', name = ''] = pod.split('/');
        const used = keys.map((key) => usageOf(reading, key));
        if (used.includes(undefined)) return [];
        const containers = used.map((each, index) => ({
          name: keys[index]!.split('/')[2],
          usage: each!.usage,
        }));
        const { timestamp, window } = used[0]!;
        return [{ metadata: { namespace, name }, timestamp, window, containers }];
      });
    });
  }
}

const RESOURCES = {
  ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: GROUP_VERSION },
  resources: [
    { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
  ],
};

function list(kind: string): object {
  return { kind, apiVersion: GROUP_VERSION, metadata: {} };
}

/** Between two readings; undefined where there are no two of the same life, or one lacks something. */
function usageOf({ before, last }: { before: Points | undefined; last: Points }, key: string) {
  const [one, other] = [before?.get(key), last.get(key)];
  if (one === undefined || other === undefined || other.atMs <= one.atMs) return undefined;
  if (other.cpuSeconds === 0 || other.memoryBytes === 0 || other.cpuSeconds < one.cpuSeconds)
    return undefined;
  if (one.startedAtSeconds !== other.startedAtSeconds) return undefined;
  const seconds = (other.atMs - one.atMs) / 1_000;
  const nanoCores = Math.round(((other.cpuSeconds - one.cpuSeconds) / seconds) * 1e9);
  return {
    timestamp: new Date(other.atMs).toISOString().replace(/\.\d+/, ''),
    window: `${seconds.toFixed(3)}s`,
    usage: { cpu: `${nanoCores}n`, memory: `${Math.round(other.memoryBytes / 1_024)}Ki` },
  };
}

/** The five series that metrics-server takes of a page, each with its time. */
function readPoints(text: string): Points {
  const points = new Map<string, Point>();
  const at = (key: string): Point => {
    const known = points.get(key) ?? { atMs: 0, cpuSeconds: 0, memoryBytes: 0 };
    points.set(key, known);
    return known;
  };
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value, time] = SAMPLE.exec(line) ?? [];
    const label = (of: string): string => new RegExp(`(?:^|,)${of}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const container = (): Point => at(`${label('namespace')}/${label('pod')}/${label('container')}`);
    const number = Number(value);
    const atMs = Number(time ?? Date.now());
    if (name === 'node_cpu_usage_seconds_total') Object.assign(at(NODE), { atMs, cpuSeconds: number });
    if (name === 'node_memory_working_set_bytes') Object.assign(at(NODE), { atMs, memoryBytes: number });
    if (name === 'container_cpu_usage_seconds_total')
      Object.assign(container(), { atMs, cpuSeconds: number });
    if (name === 'container_memory_working_set_bytes')
      Object.assign(container(), { atMs, memoryBytes: number });
    if (name === 'container_start_time_seconds') container().startedAtSeconds = number;
  }
  return points;
}
