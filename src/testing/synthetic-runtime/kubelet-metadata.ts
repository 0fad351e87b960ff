import { createHash } from 'node:crypto';

/** Names, labels and annotations of one pod as the kubelet would hand them to the runtime. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly app: string;
}

/** 64 hexadecimal digits that depend on the seed alone, like a container's id. */
export function toHexId(seed: string): string {
  return createHash('sha256').update(seed).digest('hex');
}

/** An identity that looks like a pod of a Deployment. `seed` and `index` decide everything. */
export function toPodIdentity(seed: string, index: number): PodIdentity {
  const hex = toHexId(`${seed}/pod/${index}`);
  const app = `service-${index % 40}`;
  return {
    uid: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    namespace: `team-${index % 7}`,
    name: `${app}-${hex.slice(32, 42)}-${index}`,
    app,
  };
}

/** The labels of the sandbox: the pod's own and the kubelet's three. */
export function sandboxLabels(pod: PodIdentity): Record<string, string> {
  return {
    app: pod.app,
    'app.kubernetes.io/name': pod.app,
    'app.kubernetes.io/managed-by': 'Helm',
    'pod-template-hash': pod.name.slice(pod.app.length + 1, pod.app.length + 11),
    ...podLabels(pod),
  };
}

/** The annotations of the sandbox: the pod's. */
export function sandboxAnnotations(_pod: PodIdentity, createdAtNs: bigint): Record<string, string> {
  return {
    'kubernetes.io/config.seen': new Date(Number(createdAtNs / 1_000_000n)).toISOString(),
    'kubernetes.io/config.source': 'api',
    'prometheus.io/scrape': 'true',
    'prometheus.io/port': '9090',
    'checksum/config': toHexId('configuration'),
  };
}

/** The labels of a container: the kubelet writes these four and no more. */
export function containerLabels(pod: PodIdentity, containerName: string): Record<string, string> {
  return { 'io.kubernetes.container.name': containerName, ...podLabels(pod) };
}

/** The annotations of a container, ports and preStop hook as the JSON that the kubelet writes. */
export function containerAnnotations(containerName: string, restartCount: number): Record<string, string> {
  return {
    'io.kubernetes.container.hash': toHexId(containerName).slice(0, 8),
    'io.kubernetes.container.ports': JSON.stringify([
      { name: 'http', containerPort: 8080, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9090, protocol: 'TCP' },
      { name: 'gossip', containerPort: 7946, protocol: 'UDP' },
    ]),
    'io.kubernetes.container.preStopHandler': JSON.stringify({
      httpGet: {
        path: '/drain?grace=25s',
        port: 8080,
        scheme: 'HTTP',
        httpHeaders: [{ name: 'X-Requested-By', value: `kubelet/${containerName}` }],
      },
    }),
    'io.kubernetes.container.restartCount': String(restartCount),
    'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
    'io.kubernetes.container.terminationMessagePolicy': 'File',
    'io.kubernetes.pod.terminationGracePeriod': '30',
  };
}

function podLabels(pod: PodIdentity): Record<string, string> {
  return {
    'io.kubernetes.pod.name': pod.name,
    'io.kubernetes.pod.namespace': pod.namespace,
    'io.kubernetes.pod.uid': pod.uid,
  };
}
