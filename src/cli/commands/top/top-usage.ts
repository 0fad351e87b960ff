import { getQuantity, toNumber } from '#kube/fields/quantity.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { type AgentSession, type SessionFlags, withAgent } from '../../shared/agent-session.js';
import { pathOf, PODS, RESOURCE_TYPES } from '../../shared/api/resource-type.js';
import { layOutTable } from '../../shared/print/tab-columns.js';
import { describeOldNumbers, type PodUsage, type Usage, UsageReader } from '../../shared/usage/read-usage.js';

/** The flags of `podloop top pods` and `podloop top node`. */
export interface UsageFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly containers: boolean;
  readonly sum: boolean;
  /** The contrary of `--no-headers`. */
  readonly headers: boolean;
  readonly sortBy?: string;
  readonly showCapacity: boolean;
}

/** `podloop top pods`: CPU and memory of pods or their containers, as kubectl shows them. */
export async function topPods(names: readonly string[], flags: UsageFlags, host: CliHost): Promise<void> {
  const { allNamespaces, selector, containers, sum, headers } = flags;
  if (names.length > 1) throw failure('name one pod, or choose several by --selector');
  if (names.length > 0 && (selector !== undefined || allNamespaces))
    throw failure('only one of NAME or --selector, --all-namespaces is allowed');
  await withAgent(host, flags, async (session) => {
    const known = await listNames(names[0], flags, session);
    const reading = await new UsageReader(session.client, host.clock).read();
    const found = reading.pods.filter((pod) => known.has(`${pod.namespace}/${pod.name}`));
    if (found.length === 0) {
      const where = allNamespaces
        ? 'No resources found'
        : `No resources found in ${session.namespace} namespace.`;
      return host.stderr.writeLine(
        names[0] === undefined ? where : `No usage of pod "${names[0]}" is known yet`,
      );
    }
    const rows = sortUsages(found, flags.sortBy).flatMap((pod) => toRows(pod, containers));
    const shown = rows.map(({ cells, usage }) => [...cells, cores(usage), mebibytes(usage)]);
    const head = [...(containers ? ['POD', 'NAME'] : ['NAME']), 'CPU(cores)', 'MEMORY(bytes)'];
    const lines = headers ? [head, ...shown] : shown;
    const place = allNamespaces ? rows.map(({ namespace }) => namespace) : [];
    if (headers && allNamespaces) place.unshift('NAMESPACE');
    const table = lines.map((line, at) => (allNamespaces ? [place[at]!, ...line] : line));
    if (sum)
      table.push(
        ...sumRows(
          rows.map(({ usage }) => usage),
          table[0]!.length,
        ),
      );
    await print(table, host);
    const old = describeOldNumbers(reading, found);
    if (old !== undefined) await host.stderr.writeLine(old);
  });
}

/** `podloop top node`: CPU and memory of the node, and their shares of what pods may have. */
export async function topNode(names: readonly string[], flags: UsageFlags, host: CliHost): Promise<void> {
  await withAgent(host, flags, async ({ client }) => {
    const nodes = RESOURCE_TYPES.find(({ plural }) => plural === 'nodes')!;
    const [named] = names;
    const list = named === undefined ? await client.get(pathOf(nodes, undefined)) : undefined;
    const node = list?.items?.[0] ?? (await client.get(pathOf(nodes, undefined, named ?? '')));
    const { capacity = {}, allocatable = {} } = (node as NodeObject).status ?? {};
    const room = flags.showCapacity ? capacity : allocatable;
    const { node: usage } = await new UsageReader(client, host.clock).read();
    const share = (used: number | undefined, all: string | undefined): string => {
      if (used === undefined || all === undefined) return '<unknown>';
      return `${Math.floor((100 * used) / toNumber(getQuantity(all)))}%`;
    };
    const nanoCores = usage.nanoCores === undefined ? undefined : usage.nanoCores / 1e9;
    const row = [
      node.metadata?.name ?? usage.name,
      ...[cores(usage), share(nanoCores, room['cpu'])],
      ...[mebibytes(usage), share(usage.memoryBytes, room['memory'])],
    ];
    const head = ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'];
    await print(flags.headers ? [head, row] : [row], host);
  });
}

interface NodeObject extends KubeObject {
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
  };
}

/** The pods that are meant, as `namespace/name`. */
async function listNames(
  name: string | undefined,
  { allNamespaces, selector }: UsageFlags,
  { client, namespace }: AgentSession,
): Promise<ReadonlySet<string>> {
  const keyOf = ({ metadata = {} }: KubeObject): string =>
    `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  if (name !== undefined) return new Set([keyOf(await client.get(pathOf(PODS, namespace, name)))]);
  const place = pathOf(PODS, allNamespaces ? undefined : namespace);
  const { items = [] } = await client.get(place, { labelSelector: selector });
  return new Set(items.map(keyOf));
}

interface UsageRow {
  readonly namespace: string;
  readonly cells: readonly string[];
  readonly usage: Usage;
}

function toRows(pod: PodUsage, ofContainers: boolean): UsageRow[] {
  const { namespace, name, containers } = pod;
  if (!ofContainers) return [{ namespace, cells: [name], usage: pod }];
  return containers.map((container) => ({ namespace, cells: [name, container.name], usage: container }));
}

/** By what they use, most first, or by namespace and name. */
function sortUsages(pods: readonly PodUsage[], order: string | undefined): PodUsage[] {
  const byName = (one: PodUsage, other: PodUsage): number =>
    one.namespace === other.namespace
      ? Number(one.name > other.name) || -Number(one.name < other.name)
      : Number(one.namespace > other.namespace) || -1;
  const valueOf = ({ nanoCores = 0, memoryBytes = 0 }: PodUsage): number =>
    order === 'cpu' ? nanoCores : memoryBytes;
  return [...pods].sort((one, other) =>
    order === undefined ? byName(one, other) : valueOf(other) - valueOf(one) || byName(one, other),
  );
}

/** A line below the columns of numbers, and their sums. */
function sumRows(usages: readonly Usage[], columns: number): string[][] {
  const add = (one: number | undefined, other: number | undefined): number => (one ?? 0) + (other ?? 0);
  const total = usages.reduce<Pick<Usage, 'nanoCores' | 'memoryBytes'>>(
    (sum, { nanoCores, memoryBytes }) => ({
      nanoCores: add(sum.nanoCores, nanoCores),
      memoryBytes: add(sum.memoryBytes, memoryBytes),
    }),
    { nanoCores: 0, memoryBytes: 0 },
  );
  const front = Array.from({ length: columns - 2 }, () => '');
  return [
    [...front, '________', '________'],
    [...front, cores(total), mebibytes(total)],
  ];
}

/** Thousandths of a CPU, as in `12m`. */
function cores({ nanoCores }: Pick<Usage, 'nanoCores'>): string {
  return nanoCores === undefined ? '<unknown>' : `${Math.ceil(nanoCores / 1e6)}m`;
}

function mebibytes({ memoryBytes }: Pick<Usage, 'memoryBytes'>): string {
  return memoryBytes === undefined ? '<unknown>' : `${Math.floor(memoryBytes / 2 ** 20)}Mi`;
}

async function print(table: readonly (readonly string[])[], { stdout }: CliHost): Promise<void> {
  for (const line of layOutTable(table)) await stdout.writeLine(line.trimEnd());
}
