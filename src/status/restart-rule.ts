import { type Container } from '../model/container.js';
import { type PodSpec, type RestartPolicy } from '../model/pod.js';

/**
 * `init` runs to its end before the next one starts; a `sidecar` is an init container that is kept running; an `ephemeral`
 * one joins a pod that runs, and is started once.
 */
export type ContainerKind = 'init' | 'sidecar' | 'regular' | 'ephemeral';

/** Kubernetes' default is Always. */
export function restartPolicyOf(spec: PodSpec): RestartPolicy {
  return spec.restartPolicy ?? 'Always';
}

/** Which kind a container of spec.initContainers is. */
export function initKindOf(container: Container): 'init' | 'sidecar' {
  return container.restartPolicy === 'Always' ? 'sidecar' : 'init';
}

/** Whether a container that ended with that code is to be started again. Pure. */
export function mayRestart(kind: ContainerKind, policy: RestartPolicy, exitCode: number): boolean {
  switch (kind) {
    case 'sidecar':
      return true;
    case 'ephemeral':
      return false;
    case 'init':
      return exitCode !== 0 && policy !== 'Never';
    case 'regular':
      return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
  }
}
