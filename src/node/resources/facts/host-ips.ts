import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { type Logger } from '#base/log/logger.js';
import { chooseNodeIps, type NodeIpFacts } from '#base/wire/node-ip.js';

/** What {@link HostIps} needs. */
export interface HostIpsOptions {
  readonly read: () => Promise<NodeIpFacts>;
  /** What the Node tells, for a node of a cluster: that holds for its pods, too. Empty while nothing is known. */
  readonly ofNode: () => readonly string[];
  readonly logger: Logger;
}

/**
 * The addresses of this node as its pods are told of them and its probes go to them: one, or one of each family, as of now. In a
 * cluster they are always those of the Node.
 */
export class HostIps {
  readonly #options: HostIpsOptions;
  #found: readonly string[] = [];
  /** As they were at the last look. */
  #seen: readonly string[] | undefined;
  /** They were those of the Node then. */
  #wasOfNode = false;
  #onChange: () => void = () => undefined;

  constructor(options: HostIpsOptions) {
    this.#options = options;
  }

  /** The first is the node's own; empty while the machine has none but loopback. */
  current(): readonly string[] {
    const ofNode = this.#options.ofNode();
    return ofNode.length > 0 ? ofNode : this.#found;
  }

  /** Calls `listener` after each look at which they are others than at the one before. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Looks again. An address that is gone is kept until there is another. */
  async refresh(): Promise<void> {
    if (this.#options.ofNode().length === 0) await this.#look();
    const [before, now] = [this.#seen, this.current()];
    const isFirstOfNode = !this.#wasOfNode && this.#options.ofNode().length > 0;
    this.#seen = now;
    this.#wasOfNode ||= isFirstOfNode;
    if (before === undefined || before.join() === now.join()) return;
    // What was found before was a guess: the name of the node, which goes first, is looked up for its Node alone.
    if (!isFirstOfNode) this.#options.logger.info('Addresses of the node have changed', { before, now });
    this.#onChange();
  }

  async #look(): Promise<void> {
    const facts = await this.#options.read();
    try {
      // What was told may be an address that the machine gets later.
      this.#found = facts.nodeIps.length > 0 ? facts.nodeIps : chooseNodeIps(facts);
    } catch {
      // There is none yet, or none now.
    }
  }
}

/** What the machine itself tells of its addresses; what its name stands for would have to be asked for elsewhere. */
export async function readNodeIpFacts(nodeIps: readonly string[], hostname: string): Promise<NodeIpFacts> {
  const route = await readFile('/proc/net/route', 'latin1').catch(() => '');
  return { nodeIps, hostname, interfaces: networkInterfaces(), ofName: [], route };
}
