import { isIPv4 } from 'node:net';

/**
 * At most one address of each family, first that of the node's first address, as Kubernetes requires. Pure.
 */
export function choosePodIps(ips: readonly string[], hostIps: readonly string[]): string[] {
  const [primary = ips[0] ?? ''] = hostIps;
  const isPrimary = (ip: string): boolean => isIPv4(ip) === isIPv4(primary);
  return [ips.find(isPrimary), ips.find((ip) => !isPrimary(ip))].filter((ip) => ip !== undefined);
}
