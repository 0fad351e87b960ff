/** Which pod: what every event, log line and error about a pod carries. */
export interface PodRef {
  /** Kubernetes' metadata.uid; for a sandbox without one, the sandbox's id. Never empty. */
  readonly uid: string;
  /** Empty when nobody told. */
  readonly namespace: string;
  /** Empty when nobody told. */
  readonly name: string;
}

/** `namespace/name`, as klog prints an object; the uid where there is no name. */
export function formatPod(pod: PodRef): string {
  if (pod.name === '') return pod.uid;
  return pod.namespace === '' ? pod.name : `${pod.namespace}/${pod.name}`;
}
