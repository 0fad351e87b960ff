import { type ClusterOptions } from './cluster-options.js';
import { type ServerOptions } from './server-options.js';

/** The default address, which only this machine can reach. */
export const OWN_ADDRESS = '127.0.0.1';
/** The kubelet's. */
const EVERY_ADDRESS = '0.0.0.0';

/** The TLS port; undefined for none. Pure. */
export function findTlsPort({
  enableServer,
  port,
}: Pick<ServerOptions, 'enableServer' | 'port'>): number | undefined {
  return enableServer && port !== 0 ? port : undefined;
}

/**
 * The address of the TLS port. Pure.
 *
 * In a cluster the default is every address of the machine, as with a kubelet: the API server connects from another
 * machine, and the port requires credentials.
 */
export function portAddressOf({
  address,
  kubeconfig,
}: Pick<ServerOptions, 'address'> & Pick<ClusterOptions, 'kubeconfig'>): string {
  return address ?? (kubeconfig === '' ? OWN_ADDRESS : EVERY_ADDRESS);
}
