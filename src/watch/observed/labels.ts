import { type PodOwner } from './runtime.js';

/** The labels that the kubelet writes on sandboxes and containers. */
export const LABELS = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  /** Containers only. */
  containerName: 'io.kubernetes.container.name',
  /** Set by podloop: the agent that made it. Its presence marks a sandbox or container as podloop's. */
  nodeInstance: 'podloop.dev/node-instance',
} as const;

/** The annotations that the kubelet writes on containers, and podloop's own. */
export const ANNOTATIONS = {
  /** Hexadecimal. */
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  /** JSON. */
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  /** JSON. */
  ports: 'io.kubernetes.container.ports',
  /** init, container or ephemeral. */
  type: 'io.kubernetes.container.type',
  /** Seconds. */
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  /** Seconds. */
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  /**
   * Set by podloop on containers: milliseconds to wait after its end before the next one of its name starts.
   */
  restartDelayMs: 'podloop.dev/restart-delay-ms',
  /**
   * Set by podloop on sandboxes, hexadecimal: hash of everything in the pod whose change requires a new
   * sandbox.
   */
  sandboxHash: 'podloop.dev/sandbox-hash',
  /**
   * Set by podloop on sandboxes and containers, hexadecimal: hash of everything in the pod whose change
   * recreates it.
   */
  podHash: 'podloop.dev/pod-hash',
  /** Set by podloop on containers: the image as the manifest names it. */
  image: 'podloop.dev/image',
  /** Set by podloop on sandboxes, RFC 3339: since when the pod is on this node, across all its sandboxes. */
  podStartTime: 'podloop.dev/pod-start-time',
  /**
   * Set by podloop on sandboxes: their cgroup_parent, which containers started later need as well.
   */
  cgroupParent: 'podloop.dev/cgroup-parent',
} as const;

/** Labels as a decoded message has them. */
export type Labels = Readonly<Record<string, string>>;

/** The owner of a sandbox or container, by its labels. */
export function ownerOf(labels: Labels): PodOwner {
  if ((labels[LABELS.nodeInstance] ?? '') !== '') return 'podloop';
  return (labels[LABELS.podUid] ?? '') === '' ? 'other' : 'kubernetes';
}
