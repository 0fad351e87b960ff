import { isLoopback } from '#base/wire/is-loopback.js';
import { OWN_ADDRESS } from './port-address.js';
import { type ServerOptions } from './server-options.js';

/** The kubelet's. */
const DEFAULT_READ_ONLY_PORT = 10_255;

/** The address and port that serve health and metrics without authentication. */
export interface ReadOnlyPlace {
  readonly address: string;
  /** 0 for none. */
  readonly port: number;
  /** Nobody asked for that very port. */
  readonly isUsual: boolean;
}

/**
 * The address and number of the read-only port. Pure.
 *
 * The default address is loopback, in a cluster too, as the port requires no credentials; `--address` overrides it.
 * A port that nobody configured stays on loopback whatever `--address` says, and yields to the other ports.
 */
export function findReadOnlyPlace(
  options: Pick<ServerOptions, 'enableServer' | 'address' | 'readOnlyPort' | 'port' | 'healthzPort'>,
  usualPort = DEFAULT_READ_ONLY_PORT,
): ReadOnlyPlace {
  const { enableServer, address = OWN_ADDRESS, readOnlyPort, port, healthzPort } = options;
  if (readOnlyPort !== undefined) return { address, port: enableServer ? readOnlyPort : 0, isUsual: false };
  const isFree = enableServer && port !== usualPort && healthzPort !== usualPort;
  const ownAddress = isLoopback(address) ? address : OWN_ADDRESS;
  return { address: ownAddress, port: isFree ? usualPort : 0, isUsual: true };
}
