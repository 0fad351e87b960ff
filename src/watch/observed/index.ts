/**
 * A container runtime as podloop sees it: pods grouped by uid, their status, and hints that something
 * happened.
 *
 * @example
 * ```ts
 * import { CriClient } from 'podloop/cri';
 * import { CriRuntime } from 'podloop/runtime';
 *
 * await using client = new CriClient({ endpoint: 'unix:///run/containerd/containerd.sock' });
 * const runtime = new CriRuntime({ client });
 * for (const pod of await runtime.listPods()) {
 *   const { ips, containers } = await runtime.getPodStatus(pod);
 *   console.log(pod.namespace, pod.name, ips.join(), containers.map(({ name, state }) => `${name}: ${state}`).join());
 * }
 * ```
 *
 * @module
 */
export { CriRuntime, type CriRuntimeCounters, type CriRuntimeOptions } from './cri-runtime.js';
export { ANNOTATIONS, LABELS, ownerOf } from './labels.js';
export {
  type IdRange,
  type ContainerStatus,
  emptyPodStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodOwner,
  type PodStatus,
  type Runtime,
  type RuntimeEvent,
  type RuntimeEventHandlers,
  type SandboxStatus,
} from './runtime.js';
export { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
