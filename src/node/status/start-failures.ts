import { type V1ContainerWaiting } from '#kube/pod/v1-pod-status.js';

/**
 * Why the last start of each container failed, as the status shows while it waits.
 *
 * The reasons are the kubelet's: CrashLoopBackOff, ErrImagePull, ImagePullBackOff, ErrImageNeverPull,
 * InvalidImageName, CreateContainerConfigError, CreateContainerError, RunContainerError, PostStartHookError.
 */
export class StartFailures {
  readonly #pods = new Map<string, Map<string, V1ContainerWaiting>>();

  /** Replaces the previous failure of that container. */
  record(podUid: string, containerName: string, failure: V1ContainerWaiting): void {
    const pod = this.#pods.get(podUid);
    if (pod === undefined) this.#pods.set(podUid, new Map([[containerName, failure]]));
    else pod.set(containerName, failure);
  }

  /** The container started. */
  clear(podUid: string, containerName: string): void {
    const pod = this.#pods.get(podUid);
    pod?.delete(containerName);
    if (pod?.size === 0) this.#pods.delete(podUid);
  }

  find(podUid: string, containerName: string): V1ContainerWaiting | undefined {
    return this.#pods.get(podUid)?.get(containerName);
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }
}
