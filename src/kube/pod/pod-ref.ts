/** Identifies a pod in every event, log line and error about it. */
export interface PodRef {
  /** Kubernetes' metadata.uid; for a sandbox without one, the sandbox's id. Never empty. */
  readonly uid: string;
  /** Empty if it is unknown. */
  readonly namespace: string;
  /** Empty if it is unknown. */
  readonly name: string;
}

/** `namespace/name`, as klog prints an object; the uid if there is no name. */
export function formatPod(pod: PodRef): string {
  if (pod.name === '') return pod.uid;
  return pod.namespace === '' ? pod.name : `${pod.namespace}/${pod.name}`;
}
