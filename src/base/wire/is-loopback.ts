import { isIP } from 'node:net';

/**
 * Whether an address is reachable only from this machine: `::1`, or in 127.0.0.0/8. False for anything that
 * is not an address.
 */
export function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
