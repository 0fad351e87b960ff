import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { describeRuntimeError } from '#watch';
import { toResourceUpdate } from '../../runtime/config/limit-change.js';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type ContainerResizes } from './container-resizes.js';
import { type ContainerToResize } from '../actions/pod-actions.js';
import { type SyncFailure } from '../sync/sync-failure.js';

/** Options of {@link ContainerResizer}. */
export interface ContainerResizerOptions {
  readonly changes: Pick<RuntimeChanges, 'updateContainerResources'>;
  readonly resizes: Pick<ContainerResizes, 'applied' | 'refused'>;
  /** Bytes of memory that a container uses; undefined when unknown. */
  readonly memoryUsage: (
    pod: PodRef,
    containerId: string,
    signal: AbortSignal,
  ) => Promise<bigint | undefined>;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
}

/** The delay of a retry for a limit below the present usage. */
const RETRY_AFTER_MS = 10_000;

/** Changes the limits of running containers. */
export class ContainerResizer {
  readonly #options: ContainerResizerOptions;

  constructor(options: ContainerResizerOptions) {
    this.#options = options;
  }

  /** Returns the failures; rejects only with the signal's reason. */
  async resize(
    pod: NodePod,
    toResize: readonly ContainerToResize[],
    signal: AbortSignal,
  ): Promise<readonly SyncFailure[]> {
    const failures: SyncFailure[] = [];
    // Lower limits go first, to make room for higher ones.
    const inOrder = toResize.toSorted((one, other) => rank(one) - rank(other));
    for (const each of inOrder) {
      const failure = await this.#resizeOne(pod, each, signal);
      if (failure !== undefined) failures.push(failure);
    }
    return failures;
  }

  async #resizeOne(
    pod: NodePod,
    { id, container, change }: ContainerToResize,
    signal: AbortSignal,
  ): Promise<SyncFailure | undefined> {
    const { changes, resizes, events, logger } = this.#options;
    const { metadata } = pod;
    const names = {
      pod: metadata,
      podUID: metadata.uid,
      containerName: container.name,
      containerID: id,
    };
    try {
      await this.#checkMemory(metadata, { id, container, change }, signal);
      await changes.updateContainerResources(id, toResourceUpdate(change), { signal, pod: metadata });
      resizes.applied(metadata.uid, id, change.to);
      logger.info('Container resources updated', names, 2);
      const message = `Pod resize completed: container ${container.name}: ${describe(change.to)}`;
      events.record(metadata, {
        type: 'Normal',
        reason: 'ResizeCompleted',
        message,
        container: container.name,
      });
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const common = { action: 'ResizePodInPlace', subject: container.name, cause: error } as const;
      if (error instanceof PodloopError && error.code === 'CRI_UNIMPLEMENTED') {
        // The next sync recreates it instead.
        resizes.refused(metadata.uid, id);
        const message = 'the runtime cannot change limits of a container that runs';
        return { ...common, reason: 'ResizePodInPlaceError', message, retryAfterMs: 1 };
      }
      const text = error instanceof PodloopError ? describeRuntimeError(error) : messageOf(error);
      const message = `Pod resize error: container ${container.name}: ${text}`;
      events.record(metadata, { type: 'Warning', reason: 'ResizeError', message, container: container.name });
      return { ...common, reason: 'ResizePodInPlaceError', message: text, retryAfterMs: RETRY_AFTER_MS };
    }
  }

  /** With cgroup v2 the kernel would kill a container above its new limit. */
  async #checkMemory(
    pod: PodRef,
    { id, container: { name }, change }: ContainerToResize,
    signal: AbortSignal,
  ): Promise<void> {
    const [from, to] = [change.from.memoryBytes, change.to.memoryBytes];
    if (to === undefined || (from !== undefined && to >= from)) return;
    const usage = await this.#options.memoryUsage(pod, id, signal);
    if (usage === undefined || usage < to) return;
    throw new PodloopError(
      'RESIZE_NOT_POSSIBLE',
      `attempting to set container "${name}" memory limit (${to}) below current usage (${usage})`,
    );
  }
}

function rank({ change: { from, to } }: ContainerToResize): number {
  const grows = (one: bigint | undefined, other: bigint | undefined): boolean =>
    other === undefined ? one !== undefined : one !== undefined && other > one;
  return Number(grows(from.memoryBytes, to.memoryBytes)) + Number(grows(from.cpuQuotaUs, to.cpuQuotaUs));
}

function describe({ cpuShares, cpuQuotaUs, memoryBytes }: ContainerToResize['change']['to']): string {
  const quota = cpuQuotaUs === undefined ? 'none' : `${cpuQuotaUs} us`;
  return `cpu shares ${cpuShares}, cpu quota ${quota}, memory limit ${memoryBytes ?? 'none'}`;
}
