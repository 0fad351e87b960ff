import { isIP } from 'node:net';

/** Whether only this machine itself gets to an address: `::1`, or one of 127.0.0.0/8. False for what is no address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
