import { type PodStatus } from '#watch';

/**
 * Where the ports of a pod's containers are, for hooks: the pod's address, or this machine on the node's network; empty
 * when it has no address. By what the runtime gave, which may be the node's network although the pod asked for its own.
 * Pure.
 */
export function hookHostOf({ ips, sandboxes }: Pick<PodStatus, 'ips' | 'sandboxes'>): string {
  return ips[0] ?? (sandboxes[0]?.hostNetwork === true ? '127.0.0.1' : '');
}
