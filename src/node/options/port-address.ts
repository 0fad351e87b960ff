import { type ClusterOptions } from './cluster-options.js';
import { type ServerOptions } from './server-options.js';

/** Where the agent answers unless told: to nobody but this machine. */
export const OWN_ADDRESS = '127.0.0.1';
/** The kubelet's. */
const EVERY_ADDRESS = '0.0.0.0';

/** The port with TLS; undefined where there is to be none. Pure. */
export function findTlsPort({
  enableServer,
  port,
}: Pick<ServerOptions, 'enableServer' | 'port'>): number | undefined {
  return enableServer && port !== 0 ? port : undefined;
}

/**
 * Where the port with TLS is. To join a cluster is to ask for it at every address of the machine, as with a kubelet: the API
 * server asks from elsewhere, and nobody is let in there who does not show who he is. Pure.
 */
export function portAddressOf({
  address,
  kubeconfig,
}: Pick<ServerOptions, 'address'> & Pick<ClusterOptions, 'kubeconfig'>): string {
  return address ?? (kubeconfig === '' ? OWN_ADDRESS : EVERY_ADDRESS);
}
