import { type Family, type Labels, PromText } from './prom-text.js';
import { type LookedContainer, type LookedPod, type UsageLook } from './usage-looks.js';

/** A value and its time of measurement; undefined if it was not measured. */
type Measured = { readonly value: number | undefined; readonly atMs?: number } | undefined;

interface Row<Subject> {
  readonly family: Family;
  readonly read: (subject: Subject) => Measured;
}

const NS_PER_SECOND = 1e9;

const CONTAINER_ROWS: readonly Row<LookedContainer>[] = [
  row(
    'container_cpu_usage_seconds_total',
    'counter',
    'CPU time that the container has used, in core-seconds.',
    ({ cpu }) => cpu && { value: seconds(cpu.totalNs), atMs: cpu.atMs },
  ),
  row(
    'container_memory_working_set_bytes',
    'gauge',
    'Memory of the container that the kernel cannot give back at once, in bytes.',
    ({ memory }) => memory && { value: memory.workingSetBytes, atMs: memory.atMs },
  ),
  row(
    'container_start_time_seconds',
    'gauge',
    'When the container was started, in seconds since 1970.',
    ({ status }) => ({
      value:
        status === undefined || status.startedAtNs === 0n
          ? undefined
          : Number(status.startedAtNs) / NS_PER_SECOND,
    }),
  ),
  row(
    'container_swap_limit_bytes',
    'gauge',
    'Swap that the container may use, in bytes.',
    ({ swap }) => swap && { value: add(swap.usageBytes, swap.availableBytes), atMs: swap.atMs },
  ),
  row(
    'container_swap_usage_bytes',
    'gauge',
    'Swap that the container uses, in bytes.',
    ({ swap }) => swap && { value: swap.usageBytes, atMs: swap.atMs },
  ),
];

const NODE_ROWS: readonly Row<UsageLook>[] = [
  row(
    'node_cpu_usage_seconds_total',
    'counter',
    'CPU time that the node has used, in core-seconds.',
    ({ node }) => ({
      value: seconds(node.cpuTotalNs),
      atMs: node.atMs,
    }),
  ),
  row(
    'node_memory_working_set_bytes',
    'gauge',
    'Memory of the node that the kernel cannot give back at once, in bytes.',
    ({ node }) => ({ value: node.memory?.workingSetBytes, atMs: node.atMs }),
  ),
  row('node_swap_usage_bytes', 'gauge', 'Swap that the node uses, in bytes.', ({ node }) => ({
    value: node.memory?.swapUsageBytes,
    atMs: node.atMs,
  })),
];

const POD_ROWS: readonly Row<LookedPod>[] = [
  row(
    'pod_cpu_usage_seconds_total',
    'counter',
    'CPU time that the pod has used, in core-seconds.',
    ({ cpu }) => cpu && { value: seconds(cpu.totalNs), atMs: cpu.atMs },
  ),
  row(
    'pod_memory_working_set_bytes',
    'gauge',
    'Memory of the pod that the kernel cannot give back at once, in bytes.',
    ({ memory }) => memory && { value: memory.workingSetBytes, atMs: memory.atMs },
  ),
  row(
    'pod_swap_usage_bytes',
    'gauge',
    'Swap that the containers of the pod use, in bytes.',
    ({ containers }) => {
      const swaps = containers.flatMap(({ swap }) => swap ?? []);
      if (swaps.length === 0) return undefined;
      const value = swaps.reduce<number | undefined>((sum, { usageBytes }) => add(sum, usageBytes), 0);
      return { value, atMs: Math.max(...swaps.map(({ atMs }) => atMs)) };
    },
  ),
];

/** The first is the older name of the same metric. */
const ERRORS = ['resource_scrape_error', 'scrape_error'];

/**
 * The page `/metrics/resource`: the usage of the node, its pods and containers for autoscalers and `kubectl
 * top`.
 *
 * If the runtime did not report pods, the node's part is there all the same, and the error is 1.
 *
 * Source: https://kubernetes.io/docs/reference/instrumentation/node-metrics/
 */
export async function renderResourcePage(look: UsageLook): Promise<readonly Uint8Array[]> {
  const text = new PromText();
  for (const { family, read } of CONTAINER_ROWS) {
    text.begin(family);
    for (const pod of look.pods) {
      for (const container of pod.containers) {
        const measured = read(container);
        const labels = { container: container.name, namespace: pod.namespace, pod: pod.name };
        if (write(text, labels, measured)) await text.nextSlice();
      }
    }
  }
  for (const { family, read } of NODE_ROWS) {
    text.begin(family);
    write(text, {}, read(look));
  }
  for (const { family, read } of POD_ROWS) {
    text.begin(family);
    for (const pod of look.pods) {
      if (write(text, { namespace: pod.namespace, pod: pod.name }, read(pod))) await text.nextSlice();
    }
  }
  for (const name of ERRORS) {
    text.begin({ name, type: 'gauge', help: '1 if something of this page could not be read, else 0.' });
    text.sample({}, look.problem === undefined ? 0 : 1);
  }
  return text.end();
}

function row<Subject>(
  name: string,
  type: Family['type'],
  help: string,
  read: (subject: Subject) => Measured,
): Row<Subject> {
  return { family: { name, type, help }, read };
}

function write(text: PromText, labels: Labels, measured: Measured): boolean {
  return measured !== undefined && text.sample(labels, measured.value, measured.atMs);
}

function seconds(ns: number | undefined): number | undefined {
  return ns === undefined ? undefined : ns / NS_PER_SECOND;
}

function add(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}
