import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { isServiceLink } from '../../services/service-network.js';
import { type Logger } from '#base/log/logger.js';
import { chooseNodeIps, type NodeIpFacts } from '#base/wire/node-ip.js';

/** What {@link HostIps} needs. */
export interface HostIpsOptions {
  readonly read: () => Promise<NodeIpFacts>;
  /** The Node's addresses, for a node of a cluster: they also apply to its pods. Empty while unknown. */
  readonly ofNode: () => readonly string[];
  readonly logger: Logger;
}

/**
 * The present addresses of this node for its pods and probes: one, or one of each family.
 *
 * In a cluster they are always those of the Node.
 */
export class HostIps {
  readonly #options: HostIpsOptions;
  #found: readonly string[] = [];
  /** The addresses at the last reading. */
  #seen: readonly string[] | undefined;
  /** Whether they were those of the Node then. */
  #wasOfNode = false;
  #onChange: () => void = () => undefined;

  constructor(options: HostIpsOptions) {
    this.#options = options;
  }

  /** The first is the node's own; empty while the machine has only loopback. */
  current(): readonly string[] {
    const ofNode = this.#options.ofNode();
    return ofNode.length > 0 ? ofNode : this.#found;
  }

  /** Calls `listener` after each reading with different addresses than before. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Reads them again. An address that is gone stays until there is another. */
  async refresh(): Promise<void> {
    if (this.#options.ofNode().length === 0) await this.#readOnce();
    const [before, now] = [this.#seen, this.current()];
    const isFirstOfNode = !this.#wasOfNode && this.#options.ofNode().length > 0;
    this.#seen = now;
    this.#wasOfNode ||= isFirstOfNode;
    if (before === undefined || before.join() === now.join()) return;
    // The earlier ones were a guess: the node's name, which has precedence, is looked up only for its Node.
    if (!isFirstOfNode) this.#options.logger.info('Addresses of the node have changed', { before, now });
    this.#onChange();
  }

  async #readOnce(): Promise<void> {
    const facts = await this.#options.read();
    try {
      // A configured address may be one that the machine gets later.
      this.#found = facts.nodeIps.length > 0 ? facts.nodeIps : chooseNodeIps(facts);
    } catch {
      // There is none yet, or none now.
    }
  }
}

/** The addresses that the machine itself knows; looking up its name would need a network. */
export async function readNodeIpFacts(nodeIps: readonly string[], hostname: string): Promise<NodeIpFacts> {
  const route = await readFile('/proc/net/route', 'latin1').catch(() => '');
  return { nodeIps, hostname, interfaces: withoutServices(networkInterfaces()), ofName: [], route };
}

/** The address for Services is nobody's way to this node. */
function withoutServices(all: ReturnType<typeof networkInterfaces>): ReturnType<typeof networkInterfaces> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !isServiceLink(name)));
}
