import { type PodStatus } from '#watch';

/**
 * Where hooks reach the ports of a pod's containers: the pod's address, or this machine on the node's
 * network. Pure.
 *
 * Empty when the pod has no address. It follows what the runtime gave, which may be the node's network
 * although the pod asked for its own.
 */
export function hookHostOf({ ips, sandboxes }: Pick<PodStatus, 'ips' | 'sandboxes'>): string {
  return ips[0] ?? (sandboxes[0]?.hostNetwork === true ? '127.0.0.1' : '');
}
