import { basename, dirname } from 'node:path';
import { ANNOTATIONS, type ContainerStatus } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { SliceYielder } from '#base/async/slices.js';
import { type DiskFacts, findDisk } from '#base/proc/usage/disk-facts.js';
import { type InterfaceUsage, readNetworkUsage } from '#base/proc/usage/network-usage.js';
import { type CadvisorSubject } from './cadvisor-page.js';
import { type ContainerGroups } from './container-groups.js';
import { nodeFacts, pidsOf, readFacts } from './group-facts.js';
import { sparseLayout } from './sparse-layout.js';
import { type LookedPod, type UsageLook } from './usage-looks.js';

/** Sources of {@link readSubjects}. */
export interface SubjectSources {
  readonly layout: CgroupLayout;
  readonly groups: ContainerGroups;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** Groups between two turns of the event loop: each has some twenty small files. */
const GROUPS_PER_SLICE = 4;
/** Time limit for counting open files of all containers together. */
const OPEN_FILES_MS = 1_000;

/** Measures the node, every pod, its network and its containers, for the page of cAdvisor's metrics. */
export async function readSubjects(
  look: UsageLook,
  { layout: machine, groups, clock }: SubjectSources,
  signal: AbortSignal,
): Promise<CadvisorSubject[]> {
  const ids = look.pods.flatMap(({ sandboxId, containers }) => [
    ...(sandboxId === '' ? [] : [sandboxId]),
    ...containers.map(({ id }) => id),
  ]);
  const groupOf = await groups.find(ids);
  const layout = sparseLayout(machine);
  const slices = new SliceYielder({ itemsPerSlice: GROUPS_PER_SLICE });
  const over = clock.monotonicMs() + OPEN_FILES_MS;
  const disks = new Disks();
  const root = { container: '', id: '/', image: '', name: '', namespace: '', pod: '' };
  const subjects: CadvisorSubject[] = [
    {
      ...{ runtimeId: '', labels: root, ...nodeFacts(look.node) },
      network: { interfaces: toCounters(look.node.interfaces), atMs: look.node.atMs },
    },
  ];
  const common = { layout, clock, isOver: () => clock.monotonicMs() >= over };
  for (const pod of look.pods) {
    const group = findPodGroup(pod, groupOf);
    const startedAtNs = pod.status.sandboxes.find(({ id }) => id === pod.sandboxId)?.createdAtNs ?? 0n;
    const labels = { container: '', image: '', name: '', namespace: pod.namespace, pod: pod.name };
    subjects.push({
      runtimeId: pod.sandboxId,
      labels: { ...labels, id: group ?? pod.sandboxId },
      ...(await readFacts(pod, { ...common, group, startedAtNs, limits: undefined, disk: undefined })),
      network: readPodNetwork(pod, layout, groupOf, clock),
    });
    for (const container of pod.containers) {
      const { id, name, status, writableLayer } = container;
      const path = groupOf.get(id);
      subjects.push({
        runtimeId: id,
        labels: { ...labels, container: name, id: path ?? id, image: imageOf(status), name: id },
        ...(await readFacts(container, {
          ...{ ...common, group: path, limits: status?.resources, startedAtNs: status?.startedAtNs ?? 0n },
          disk: await disks.at(writableLayer?.mountpoint),
        })),
        network: undefined,
      });
      if (slices.isFull()) await slices.nextSlice();
    }
    if (slices.isFull()) await slices.nextSlice();
    signal.throwIfAborted();
  }
  return subjects;
}

/** As in the manifest if known: runtimes may report an id. */
function imageOf(status: ContainerStatus | undefined): string {
  return status?.annotations[ANNOTATIONS.image] ?? status?.image ?? '';
}

/**
 * The group around a pod's containers, if its name has the pod's uid or its sandbox's id.
 *
 * The pod's creator may have put it into a shared group, such as `/system.slice`.
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

/** As a process of the pod sees it; none for a pod on the host's network, which is the node's. */
function readPodNetwork(
  { status, sandboxId, containers, network }: LookedPod,
  layout: CgroupLayout,
  groupOf: ReadonlyMap<string, string>,
  clock: Pick<Clock, 'now'>,
): CadvisorSubject['network'] {
  if (status.sandboxes.find(({ id }) => id === sandboxId)?.hostNetwork !== false) return undefined;
  for (const id of [sandboxId, ...containers.map((container) => container.id)]) {
    const group = groupOf.get(id);
    const pid = group === undefined ? undefined : pidsOf(layout, group)[0];
    if (group === undefined || pid === undefined) continue;
    const interfaces = readNetworkUsage(pid);
    // The pid may have been reused by a process elsewhere meanwhile.
    if (interfaces.length > 0 && pidsOf(layout, group).includes(pid))
      return { interfaces, atMs: clock.now() };
  }
  return network && { interfaces: toCounters(network.interfaces), atMs: network.atMs };
}

/** Leaves out an interface with unknown traffic. */
function toCounters(interfaces: UsageLook['node']['interfaces']): readonly InterfaceUsage[] {
  return interfaces.flatMap(({ name, rxBytes, txBytes, rxErrors, txErrors }) => {
    if (rxBytes === undefined || txBytes === undefined) return [];
    const direction = (bytes: number, errors: number | undefined): InterfaceUsage['sent'] => ({
      ...{ bytes: BigInt(bytes), packets: undefined, dropped: undefined },
      errors: errors === undefined ? undefined : BigInt(errors),
    });
    return [{ name, received: direction(rxBytes, rxErrors), sent: direction(txBytes, txErrors) }];
  });
}

/** The file systems of one page, each read once. */
class Disks {
  readonly #known = new Map<string, Promise<DiskFacts | undefined>>();

  async at(path: string | undefined): Promise<DiskFacts | undefined> {
    if (path === undefined || path === '') return undefined;
    const known = this.#known.get(path) ?? findDisk(path);
    this.#known.set(path, known);
    return await known;
  }
}
