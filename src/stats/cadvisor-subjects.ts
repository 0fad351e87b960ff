import { basename, dirname } from 'node:path';
import { statfs } from 'node:fs/promises';
import { ANNOTATIONS } from '../runtime/labels.js';
import { type ContainerStatus } from '../runtime/runtime.js';
import { type Clock } from '../util/clock.js';
import { type CgroupLayout } from '../util/cgroups/cgroup-layout.js';
import { SliceYielder } from '../util/slices.js';
import { type ContainerFacts } from '../util/usage/container-metrics.js';
import { type InterfaceUsage, readNetworkUsage } from '../util/usage/network-usage.js';
import { type CadvisorSubject } from './cadvisor-page.js';
import { type ContainerGroups } from './container-groups.js';
import { type GroupReading, nodeFacts, pidsOf, readFacts } from './group-facts.js';
import { type LookedPod, type UsageLook } from './usage-looks.js';

/** What {@link readSubjects} reads with. */
export interface SubjectSources {
  readonly layout: CgroupLayout;
  readonly groups: ContainerGroups;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Groups between two turns of the event loop: each is some twenty small files. */
const GROUPS_PER_SLICE = 4;
/** How long open files are looked at, of all containers together. */
const OPEN_FILES_MS = 1_000;

/** The node, every pod, its network and its containers, measured for the page of cAdvisor's metrics. */
export async function readSubjects(
  look: UsageLook,
  { layout, groups, clock }: SubjectSources,
  signal: AbortSignal,
): Promise<CadvisorSubject[]> {
  const ids = look.pods.flatMap(({ sandboxId, containers }) => [
    ...(sandboxId === '' ? [] : [sandboxId]),
    ...containers.map(({ id }) => id),
  ]);
  const groupOf = await groups.find(ids);
  const slices = new SliceYielder({ itemsPerSlice: GROUPS_PER_SLICE });
  const over = clock.monotonicMs() + OPEN_FILES_MS;
  const disks = new Disks();
  const root = { container: '', id: '/', image: '', name: '', namespace: '', pod: '' };
  const subjects: CadvisorSubject[] = [
    { labels: root, facts: nodeFacts(look.node), network: nodeNetwork(look) },
  ];
  const common = { layout, seenAtMs: look.atMs, isOver: () => clock.monotonicMs() >= over };
  for (const pod of look.pods) {
    const own: Omit<GroupReading, 'group' | 'limits' | 'startedAtNs' | 'disk'> = common;
    const group = findPodGroup(pod, groupOf);
    const startedAtNs = pod.status.sandboxes.find(({ id }) => id === pod.sandboxId)?.createdAtNs ?? 0n;
    const labels = { container: '', image: '', name: '', namespace: pod.namespace, pod: pod.name };
    subjects.push({
      labels: { ...labels, id: group ?? pod.sandboxId },
      facts: await readFacts(pod, { ...own, group, startedAtNs, limits: undefined, disk: undefined }),
      network: await readPodNetwork(pod, layout, groupOf),
    });
    for (const container of pod.containers) {
      const { id, name, status, writableLayer } = container;
      const path = groupOf.get(id);
      subjects.push({
        labels: { ...labels, container: name, id: path ?? id, image: imageOf(status), name: id },
        facts: await readFacts(container, {
          ...{ ...own, group: path, limits: status?.resources, startedAtNs: status?.startedAtNs ?? 0n },
          disk: await disks.at(writableLayer?.mountpoint),
        }),
        network: [],
      });
      if (slices.isFull()) await slices.nextSlice();
    }
    if (slices.isFull()) await slices.nextSlice();
    signal.throwIfAborted();
  }
  return subjects;
}

/** As the manifest names it, where that is known: runtimes may tell an id. */
function imageOf(status: ContainerStatus | undefined): string {
  return status?.annotations[ANNOTATIONS.image] ?? status?.image ?? '';
}

/**
 * The group around a pod's containers, where it bears the pod's uid or its sandbox's id. Whoever made the pod may have
 * put it into a group of others, such as `/system.slice`.
 */
function findPodGroup(
  { uid, sandboxId, containers }: LookedPod,
  groupOf: ReadonlyMap<string, string>,
): string | undefined {
  for (const id of [...containers.map((container) => container.id), sandboxId]) {
    const group = groupOf.get(id);
    if (group === undefined) continue;
    const name = basename(dirname(group));
    const own = [`pod${uid}`, `pod${uid.replaceAll('-', '_')}.slice`, sandboxId];
    if (own.some((each) => each !== '' && (name === each || name.endsWith(`-${each}`))))
      return dirname(group);
  }
  return undefined;
}

/** As a process of the pod sees it; of a pod on the host's network none, as it is the node's. */
async function readPodNetwork(
  { status, sandboxId, containers, network }: LookedPod,
  layout: CgroupLayout,
  groupOf: ReadonlyMap<string, string>,
): Promise<readonly InterfaceUsage[]> {
  if (status.sandboxes.find(({ id }) => id === sandboxId)?.hostNetwork !== false) return [];
  for (const id of [sandboxId, ...containers.map((container) => container.id)]) {
    const group = groupOf.get(id);
    const pid = group === undefined ? undefined : pidsOf(layout, group)[0];
    if (pid !== undefined) return await readNetworkUsage(pid);
  }
  return toCounters(network?.interfaces ?? []);
}

function nodeNetwork({ node }: UsageLook): readonly InterfaceUsage[] {
  return toCounters(node.interfaces);
}

/** What is not told of is left out as a whole where it is one of the two that matter, else nothing was lost. */
function toCounters(interfaces: UsageLook['node']['interfaces']): readonly InterfaceUsage[] {
  return interfaces.flatMap(({ name, rxBytes, txBytes, rxErrors, txErrors }) => {
    if (rxBytes === undefined || txBytes === undefined) return [];
    const direction = (bytes: number, errors: number | undefined): InterfaceUsage['sent'] => ({
      ...{ bytes: BigInt(bytes), errors: BigInt(errors ?? 0), packets: undefined, dropped: undefined },
    });
    return [{ name, received: direction(rxBytes, rxErrors), sent: direction(txBytes, txErrors) }];
  });
}

/** The file systems of one page, each asked once. */
class Disks {
  readonly #known = new Map<string, Promise<ContainerFacts['disk']>>();

  async at(path: string | undefined): Promise<ContainerFacts['disk']> {
    if (path === undefined || path === '') return undefined;
    const known = this.#known.get(path) ?? findDisk(path);
    this.#known.set(path, known);
    return await known;
  }
}

async function findDisk(path: string): Promise<ContainerFacts['disk']> {
  try {
    const { bsize, blocks, files, ffree } = await statfs(path, { bigint: true });
    return { sizeBytes: bsize * blocks, inodes: files, freeInodes: ffree };
  } catch {
    return undefined;
  }
}
