/**
 * Converts CRI's messages to the observed model.
 *
 * Pure, and never throws when a message lacks something: a missing name is empty, a missing time is 0n, and
 * an unknown state is `unknown` and counted.
 *
 * @module
 */
import { cri } from '../cri/index.js';

import { ANNOTATIONS, LABELS } from './labels.js';
import {
  type IdRange,
  type ContainerLimits,
  type ContainerStatus,
  type ContainerUser,
  type ObservedState,
  type RuntimeEvent,
  type SandboxStatus,
  type EventStatuses,
} from './runtime.js';

/** Counters of the conversion. */
export interface ConvertCounters {
  /** States and event types that this version does not know. */
  unknownEnums: number;
}

/** By CRI's ContainerState. */
export function toContainerState(state: number, counters: ConvertCounters): ObservedState {
  switch (state) {
    case cri.ContainerState.CONTAINER_CREATED:
      return 'created';
    case cri.ContainerState.CONTAINER_RUNNING:
      return 'running';
    case cri.ContainerState.CONTAINER_EXITED:
      return 'exited';
    case cri.ContainerState.CONTAINER_UNKNOWN:
      return 'unknown';
    default:
      counters.unknownEnums++;
      return 'unknown';
  }
}

/** By CRI's PodSandboxState: ready is running, not ready is exited. */
export function toSandboxState(state: number, counters: ConvertCounters): ObservedState {
  switch (state) {
    case cri.PodSandboxState.SANDBOX_READY:
      return 'running';
    case cri.PodSandboxState.SANDBOX_NOTREADY:
      return 'exited';
    default:
      counters.unknownEnums++;
      return 'unknown';
  }
}

/** What the list says of a container and its status does not repeat. */
export interface ContainerOrigin {
  readonly id: string;
  readonly sandboxId: string;
}

/** From CRI's LinuxContainerResources: 0 means "not set", a negative value "no limit". */
export function toContainerLimits({
  cpuShares,
  cpuQuota,
  cpuPeriod,
  memoryLimitInBytes,
}: Pick<
  cri.LinuxContainerResources,
  'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memoryLimitInBytes'
>): ContainerLimits {
  const limited = (amount: bigint): bigint | undefined => (amount > 0n ? amount : undefined);
  return {
    cpuShares: cpuShares > 0n ? cpuShares : 0n,
    cpuQuotaUs: limited(cpuQuota),
    cpuPeriodUs: limited(cpuPeriod),
    memoryBytes: limited(memoryLimitInBytes),
  };
}

/** From CRI's ContainerStatus. */
export function toContainerStatus(
  status: cri.ContainerStatus,
  origin: ContainerOrigin,
  counters: ConvertCounters,
): ContainerStatus {
  const attempt = status.metadata?.attempt ?? 0;
  return {
    id: status.id === '' ? origin.id : status.id,
    name: status.metadata?.name ?? status.labels[LABELS.containerName] ?? '',
    attempt,
    sandboxId: origin.sandboxId,
    state: toContainerState(status.state, counters),
    createdAtNs: status.createdAt,
    startedAtNs: status.startedAt,
    finishedAtNs: status.finishedAt,
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    image: status.image?.image ?? '',
    imageRef: status.imageRef,
    imageId: status.imageId,
    restartCount: toCount(status.annotations[ANNOTATIONS.restartCount]) ?? attempt,
    labels: status.labels,
    annotations: status.annotations,
    logPath: status.logPath,
    ...(status.resources?.linux === undefined
      ? {}
      : { resources: toContainerLimits(status.resources.linux) }),
    ...toStopSignal(status.stopSignal),
    ...(status.user?.linux === undefined ? {} : { user: toContainerUser(status.user.linux) }),
  };
}

function toContainerUser({ uid, gid, supplementalGroups }: cri.LinuxContainerUser): ContainerUser {
  return { uid: Number(uid), gid: Number(gid), supplementalGroups: supplementalGroups.map(Number) };
}

/**
 * CRI's `SIGRTMINPLUS3` is written SIGRTMIN+3. Empty if the runtime reports no signal or one that CRI does
 * not define.
 */
function toStopSignal(signal: cri.Signal): { stopSignal?: string } {
  if (signal === cri.Signal.RUNTIME_DEFAULT) return {};
  const name = Object.entries(cri.Signal).find(([, number]) => number === signal)?.[0];
  return name === undefined ? {} : { stopSignal: name.replace('PLUS', '+').replace('MINUS', '-') };
}

/** From CRI's PodSandboxStatus. */
export function toSandboxStatus(
  status: cri.PodSandboxStatus,
  origin: { readonly id: string },
  counters: ConvertCounters,
): SandboxStatus {
  const { network } = status;
  const ips = [network?.ip ?? '', ...(network?.additionalIps ?? []).map(({ ip }) => ip)];
  return {
    id: status.id === '' ? origin.id : status.id,
    name: status.metadata?.name ?? status.labels[LABELS.podName] ?? '',
    attempt: status.metadata?.attempt ?? 0,
    state: toSandboxState(status.state, counters),
    createdAtNs: status.createdAt,
    ips: ips.filter((ip) => ip !== ''),
    labels: status.labels,
    annotations: status.annotations,
    runtimeHandler: status.runtimeHandler,
    hostNetwork: status.linux?.namespaces?.options?.network === cri.NamespaceMode.NODE,
    ...toIdRange(status.linux?.namespaces?.options?.usernsOptions),
  };
}

/** Ranges that podloop and kubelets do not give are left out. */
function toIdRange(users: cri.UserNamespace | undefined): { idRange?: IdRange } {
  const [range, ...more] = users?.uids ?? [];
  if (users?.mode !== cri.NamespaceMode.POD || range?.containerId !== 0 || more.length > 0) return {};
  return { idRange: { hostId: range.hostId, length: range.length } };
}

/** From CRI's ContainerEventResponse. */
export function toRuntimeEvent(event: cri.ContainerEventResponse, counters: ConvertCounters): RuntimeEvent {
  return {
    type: toEventType(event.containerEventType, counters),
    containerId: event.containerId,
    podUid: podUidOf(event),
    createdAtNs: event.createdAt,
    // Read lazily, as most are never needed, such as those of containers that were only created.
    ...(event.podSandboxStatus && { statuses: () => toEventStatuses(event, counters) }),
  };
}

function toEventStatuses(
  { podSandboxStatus, containersStatuses }: cri.ContainerEventResponse,
  counters: ConvertCounters,
): EventStatuses {
  const sandboxId = podSandboxStatus?.id ?? '';
  return {
    sandboxes: podSandboxStatus ? [toSandboxStatus(podSandboxStatus, { id: '' }, counters)] : [],
    containers: containersStatuses.map((each) => toContainerStatus(each, { id: '', sandboxId }, counters)),
  };
}

function toEventType(type: number, counters: ConvertCounters): RuntimeEvent['type'] {
  switch (type) {
    case cri.ContainerEventType.CONTAINER_CREATED_EVENT:
      return 'created';
    case cri.ContainerEventType.CONTAINER_STARTED_EVENT:
      return 'started';
    case cri.ContainerEventType.CONTAINER_STOPPED_EVENT:
      return 'stopped';
    case cri.ContainerEventType.CONTAINER_DELETED_EVENT:
      return 'deleted';
    default:
      counters.unknownEnums++;
      return 'unknown';
  }
}

function podUidOf({ podSandboxStatus, containersStatuses }: cri.ContainerEventResponse): string | undefined {
  for (const { labels } of podSandboxStatus
    ? [podSandboxStatus, ...containersStatuses]
    : containersStatuses) {
    const uid = labels[LABELS.podUid];
    if (uid !== undefined && uid !== '') return uid;
  }
  // As for a sandbox in a list: the label, then the metadata, then the id.
  const uid = podSandboxStatus?.metadata?.uid ?? '';
  return [uid, podSandboxStatus?.id ?? ''].find((text) => text !== '');
}

function toCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
