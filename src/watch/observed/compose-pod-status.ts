import { inOrderOfCreation, newestAttemptFirst } from './listed-item.js';
import { type ContainerStatus, type ObservedPod, type PodStatus, type SandboxStatus } from './runtime.js';

/** Combines the statuses of a pod's sandboxes and containers, in any order, into one status. Pure. */
export function composePodStatus(
  { uid, namespace, name, owner }: Pick<ObservedPod, 'uid' | 'namespace' | 'name' | 'owner'>,
  sandboxes: readonly SandboxStatus[],
  containers: readonly ContainerStatus[],
): PodStatus {
  const newestFirst = [...sandboxes].sort(newestAttemptFirst);
  const ips = newestFirst.find(({ state }) => state === 'running')?.ips ?? [];
  return {
    ...{ uid, namespace, name, owner, ips },
    sandboxes: newestFirst,
    containers: [...containers].sort(inOrderOfCreation),
  };
}
