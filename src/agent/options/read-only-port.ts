import { isIP } from 'node:net';
import { type ServerOptions } from './server-options.js';

/** The kubelet's. */
export const DEFAULT_READ_ONLY_PORT = 10_255;

/** Where health and metrics are for anybody. */
export interface ReadOnlyPlace {
  readonly address: string;
  /** 0 for none. */
  readonly port: number;
  /** Nobody asked for that very port. */
  readonly isUsual: boolean;
}

/**
 * Where the port is that is open to all. One that nobody asked for stays on this machine, whatever `--address` says, and
 * makes way for the other ports. Pure.
 */
export function findReadOnlyPlace(
  options: Pick<ServerOptions, 'enableServer' | 'address' | 'readOnlyPort' | 'port' | 'healthzPort'>,
  usualPort = DEFAULT_READ_ONLY_PORT,
): ReadOnlyPlace {
  const { enableServer, address, readOnlyPort, port, healthzPort } = options;
  if (readOnlyPort !== undefined) return { address, port: enableServer ? readOnlyPort : 0, isUsual: false };
  const isFree = enableServer && port !== usualPort && healthzPort !== usualPort;
  const ownAddress = isLoopback(address) ? address : '127.0.0.1';
  return { address: ownAddress, port: isFree ? usualPort : 0, isUsual: true };
}

/** Whether only this machine itself gets to an address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
