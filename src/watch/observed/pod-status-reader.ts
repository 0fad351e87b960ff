import { CallGroup, type CriClient } from '../cri/index.js';
import { PodloopError, isNotFound } from '#base/errors/errors.js';

import { composePodStatus } from './compose-pod-status.js';
import { type ConvertCounters, toContainerStatus, toSandboxStatus } from './convert.js';
import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type PodStatus,
  type SandboxStatus,
} from './runtime.js';

/** Options of {@link readPodStatus}. */
export interface PodStatusReaderOptions {
  readonly client: Pick<CriClient, 'podSandboxStatus' | 'containerStatus'>;
  readonly counters: ConvertCounters;
  readonly signal?: AbortSignal | undefined;
}

type GroupedOptions = Omit<PodStatusReaderOptions, 'signal'> & { readonly group: CallGroup };

// Enough that a pod of many containers does not wait for each in turn, and few enough that one pod leaves the
// runtime room for the others.
const CALLS_AT_ONCE = 8;

/**
 * Reads the status of every sandbox and container of a pod, a few at a time.
 *
 * What the runtime no longer knows is left out. Any other failure cancels the calls still in flight and
 * rejects.
 */
export async function readPodStatus(pod: ObservedPod, options: PodStatusReaderOptions): Promise<PodStatus> {
  return await CallGroup.run(options.signal, (group) => readAll(pod, { ...options, group }));
}

async function readAll(pod: ObservedPod, options: GroupedOptions): Promise<PodStatus> {
  const sandboxes: SandboxStatus[] = [];
  const containers: ContainerStatus[] = [];
  const wanted = [...pod.sandboxes, ...pod.containers];
  const worker = async (): Promise<void> => {
    for (let item = wanted.shift(); item !== undefined; item = wanted.shift()) {
      if (item.kind === 'sandbox') {
        const status = await findSandbox(item, pod, options);
        if (status !== undefined) sandboxes.push(status);
      } else {
        const status = await findContainer(item, pod, options);
        if (status !== undefined) containers.push(status);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, wanted.length) }, worker));
  return composePodStatus(pod, sandboxes, containers);
}

async function findSandbox(
  { id }: ObservedContainer,
  pod: ObservedPod,
  { client, counters, group }: GroupedOptions,
): Promise<SandboxStatus | undefined> {
  try {
    const { status } = await client.podSandboxStatus({ podSandboxId: id }, { group, pod });
    if (status === undefined) throw withoutStatus('podsandbox_status', id);
    return toSandboxStatus(status, { id }, counters);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function findContainer(
  { id, sandboxId }: ObservedContainer,
  pod: ObservedPod,
  { client, counters, group }: GroupedOptions,
): Promise<ContainerStatus | undefined> {
  try {
    const { status } = await client.containerStatus({ containerId: id }, { group, pod });
    if (status === undefined) throw withoutStatus('container_status', id);
    return toContainerStatus(status, { id, sandboxId }, counters);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** An answer without a status shows neither the container nor its absence. */
function withoutStatus(operation: string, id: string): PodloopError {
  return new PodloopError('CRI_MALFORMED_RESPONSE', `${operation} of ${id}: the answer has no status`);
}
