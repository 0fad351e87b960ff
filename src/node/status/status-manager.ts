/**
 * The latest status of every pod: written by syncs and probes, read by everybody.
 *
 * In: statuses from {@link computePodStatus}, each with the stamp at which its inputs were read, and
 * readiness from probes. Out: records with an increasing version, and changes for any number of readers. A
 * status stays after its pod is gone, until housekeeping reports which pods are still known.
 *
 * An older status never overwrites a newer one: a status whose inputs were read earlier is refused, and later
 * probe results are applied on top of a status. A terminal phase, and the last status of an ended pod, stay
 * until the pod is forgotten.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { type NodePod } from '#kube/pod/node-pod.js';
import {
  isTerminalPhase,
  type V1ContainerStatus,
  type V1PodCondition,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';
import { type Clock, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { computeConditions, findSandboxCondition, type PendingResize } from './compute-conditions.js';
import { groupByKind } from './compute-pod-status.js';
import {
  podStatusChanged,
  type PodStatusRecord,
  type StatusChange,
  StatusChanges,
} from './status-changes.js';
import { terminateStatus } from './terminate-status.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';

/** The result for a new status: `older` and `finished` ones were refused. */
export type SetStatusResult = 'changed' | 'same' | 'older' | 'finished';

/** What a {@link StatusManager} needs. */
export interface StatusManagerOptions extends Publisher {
  readonly clock: Clock;
  readonly logger?: Logger;
  /** How many pods' changes are queued per reader (default: 1000). */
  readonly changeCapacity?: number;
}

interface ProbeSighting {
  readonly field: 'ready' | 'started';
  readonly value: boolean;
  readonly stamp: Stamp;
}

interface Entry {
  record: PodStatusRecord;
  pod: NodePod;
  /** The stamp of the status's inputs. */
  stamp: Stamp;
  /** Later results of probes, by container id and field. */
  readonly probes: Map<string, ProbeSighting>;
}

const DEFAULT_CHANGE_CAPACITY = 1000;
/** Reasons of a container that waits for its first start, and of nothing that went wrong. */
const CREATING: readonly string[] = ['ContainerCreating', 'PodInitializing'];

/** See the module. */
export class StatusManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #channels: Publisher['channels'];
  readonly #changeCapacity: number;
  readonly #entries = new Map<string, Entry>();
  readonly #readers = new Set<StatusChanges>();

  constructor(options: StatusManagerOptions) {
    this.#clock = options.clock;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#channels = options.channels;
    this.#changeCapacity = options.changeCapacity ?? DEFAULT_CHANGE_CAPACITY;
  }

  /** Undefined for a pod that was never seen, or is forgotten. */
  find(podUid: string): PodStatusRecord | undefined {
    return this.#entries.get(podUid)?.record;
  }

  /** The pod of the status, as it was last synced. */
  findPod(podUid: string): NodePod | undefined {
    return this.#entries.get(podUid)?.pod;
  }

  /** All records, in the order in which their pods were first seen. */
  list(): PodStatusRecord[] {
    return [...this.#entries.values()].map(({ record }) => record);
  }

  /** `stamp`: taken before the inputs of the status were read. */
  setPodStatus(pod: NodePod, status: V1PodStatus, stamp: Stamp): SetStatusResult {
    const entry = this.#entries.get(pod.metadata.uid);
    if (entry === undefined) return this.#add(pod, status, stamp);
    const { record } = entry;
    if (record.isFinished) return 'finished';
    if (stamp < entry.stamp) return 'older';
    if (isTerminalPhase(record.status.phase) && status.phase !== record.status.phase) {
      const phases = { oldPhase: record.status.phase, phase: status.phase };
      this.#logger.error('Pod attempted illegal phase transition', undefined, {
        pod: pod.metadata,
        ...phases,
      });
      return 'finished';
    }
    entry.pod = pod;
    entry.stamp = stamp;
    for (const [key, probe] of entry.probes) if (probe.stamp < stamp) entry.probes.delete(key);
    return this.#write(entry, this.#withProbes(entry, status));
  }

  /** Restores the status of a pod that ended under an earlier agent; does nothing if there is one already. */
  restore(pod: NodePod, status: V1PodStatus, isFinished: boolean): void {
    if (!this.#entries.has(pod.metadata.uid)) this.#add(pod, status, OLDEST_STAMP, isFinished);
  }

  /** The result of a readiness probe has changed. False when no such container is shown as running. */
  setContainerReadiness(podUid: string, containerId: string, ready: boolean): boolean {
    return this.#setProbe(podUid, containerId, 'ready', ready);
  }

  /** The result of a startup probe has changed. False when no such container is shown as running. */
  setContainerStartup(podUid: string, containerId: string, started: boolean): boolean {
    return this.#setProbe(podUid, containerId, 'started', started);
  }

  /**
   * Says why a container is still being created, until the next status of its pod. False when no such container is
   * shown as being created.
   */
  setCreatingMessage(podUid: string, containerName: string, message: string): boolean {
    const entry = this.#entries.get(podUid);
    if (entry === undefined || entry.record.isFinished) return false;
    let isShown = false;
    const apply = (each: V1ContainerStatus): V1ContainerStatus => {
      const { waiting } = each.state;
      if (each.name !== containerName || waiting === undefined || !CREATING.includes(waiting.reason))
        return each;
      isShown = true;
      return { ...each, state: { waiting: { ...waiting, message } } };
    };
    const { status } = entry.record;
    const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = status;
    this.#write(entry, {
      ...status,
      ...(initContainerStatuses && { initContainerStatuses: initContainerStatuses.map(apply) }),
      containerStatuses: containerStatuses.map(apply),
      ...(ephemeralContainerStatuses && {
        ephemeralContainerStatuses: ephemeralContainerStatuses.map(apply),
      }),
    });
    return isShown;
  }

  /** Makes the status the last one of an ended pod: see {@link terminateStatus}. */
  terminatePod(pod: NodePod): void {
    const entry = this.#entries.get(pod.metadata.uid);
    if (entry === undefined || entry.record.isFinished) return;
    this.#write(entry, terminateStatus(pod.spec, entry.record.status, this.#clock.now()), true);
  }

  /** The pod is to start again under the same uid. */
  forget(podUid: string): void {
    const entry = this.#entries.get(podUid);
    if (entry === undefined) return;
    this.#entries.delete(podUid);
    this.#publish(podUid, { type: 'removed', pod: entry.record.pod });
  }

  /** Forgets all pods but these. For housekeeping, once every source was read. */
  removeOrphanedStatuses(knownUids: ReadonlySet<string>): void {
    for (const uid of [...this.#entries.keys()]) if (!knownUids.has(uid)) this.forget(uid);
  }

  /** Changes from now on, until it is closed. */
  subscribe(): StatusChanges {
    const reader = new StatusChanges({
      capacity: this.#changeCapacity,
      onClose: (closed) => this.#readers.delete(closed),
    });
    this.#readers.add(reader);
    return reader;
  }

  #add(pod: NodePod, status: V1PodStatus, stamp: Stamp, isFinished = false): SetStatusResult {
    const { uid, namespace, name } = pod.metadata;
    const record = { pod: { uid, namespace, name }, status, version: 1, isFinished };
    this.#entries.set(uid, { record, pod, stamp, probes: new Map() });
    this.#publish(uid, { type: 'status', record });
    return 'changed';
  }

  #write(entry: Entry, status: V1PodStatus, isFinished = false): SetStatusResult {
    const { record } = entry;
    if (isFinished === record.isFinished && isDeepStrictEqual(status, record.status)) {
      this.#logger.info('Ignoring same status for pod', { pod: entry.pod.metadata }, 4);
      return 'same';
    }
    const { uid, namespace, name } = entry.pod.metadata;
    entry.record = { pod: { uid, namespace, name }, status, version: record.version + 1, isFinished };
    this.#publish(uid, { type: 'status', record: entry.record });
    return 'changed';
  }

  #setProbe(podUid: string, containerId: string, field: ProbeSighting['field'], value: boolean): boolean {
    const entry = this.#entries.get(podUid);
    if (entry === undefined || entry.record.isFinished) return false;
    entry.probes.set(`${field} ${containerId}`, { field, value, stamp: this.#clock.stamp() });
    const status = this.#withProbes(entry, entry.record.status);
    const isShown = allOf(status).some((each) => isRunningAs(each, containerId));
    if (this.#write(entry, status) === 'same' && isShown) {
      this.#logger.info(
        'Container readiness unchanged',
        { pod: entry.pod.metadata, containerID: containerId },
        4,
      );
    }
    return isShown;
  }

  #withProbes({ pod, probes }: Entry, status: V1PodStatus): V1PodStatus {
    if (probes.size === 0) return status;
    const apply = (each: V1ContainerStatus): V1ContainerStatus => {
      let result = each;
      for (const [key, { field, value }] of probes) {
        if (isRunningAs(each, key.slice(field.length + 1))) result = { ...result, [field]: value };
      }
      // For an init container that is through, "ready" means exactly that.
      const hasToStart = result.state.running !== undefined && !result.started;
      return result.ready && hasToStart ? { ...result, ready: false } : result;
    };
    const { initContainerStatuses, containerStatuses, phase, conditions } = status;
    const init = (initContainerStatuses ?? []).map(apply);
    const regular = containerStatuses.map(apply);
    const isTrue = (type: string): boolean =>
      conditions.some((condition) => condition.type === type && condition.status === 'True');
    // Init containers that are through have no probes: their recorded progress stays.
    const statuses = groupByKind(pod.spec, init, regular, isTrue('Initialized'));
    return {
      ...status,
      conditions: computeConditions({
        phase,
        statuses,
        sandboxFlaw: findSandboxCondition(conditions),
        previous: conditions,
        pendingResize: findPendingResize(conditions),
        nowMs: this.#clock.now(),
      }),
      ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: init }),
      containerStatuses: regular,
    };
  }

  #publish(podUid: string, change: StatusChange): void {
    for (const reader of this.#readers) reader.push(podUid, change);
    publishTo(this.#channels, podStatusChanged, change);
  }
}

/** As it was computed. */
function findPendingResize(conditions: readonly V1PodCondition[]): PendingResize | undefined {
  const found = conditions.find(({ type }) => type === 'PodResizePending');
  return found === undefined ? undefined : { reason: found.reason ?? '', message: found.message ?? '' };
}

function isRunningAs({ state, containerID }: V1ContainerStatus, containerId: string): boolean {
  return state.running !== undefined && containerID?.endsWith(`://${containerId}`) === true;
}

function allOf({ initContainerStatuses = [], containerStatuses }: V1PodStatus): V1ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}
