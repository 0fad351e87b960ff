import { findQuantity, toMilliUnits, wholeUnitsOf } from '../model/quantity.js';
import { type NodeCapacity } from '../sync/admit-pod.js';
import { type CapacityFacts, computeCapacity } from './node-capacity.js';

/** Amounts by resource, as a Node has them: `{ cpu: '2', memory: '4Gi' }`. */
type Amounts = Readonly<Record<string, string>>;

/** What a {@link NodeRoom} needs. */
export interface NodeRoomOptions {
  /** What the machine has now. */
  readonly read: () => Promise<CapacityFacts>;
  /** The allocatable of the Node as the API server has it; undefined without a cluster, and before it was seen. */
  readonly ofNode: () => Amounts | undefined;
}

/**
 * What pods may use together on this node, as of now.
 *
 * A scheduler goes by what the Node says, and a pod that is rejected here is failed for good: so all that the Node says is there is
 * there, and what the machine has got since then as well.
 */
export class NodeRoom {
  readonly #options: NodeRoomOptions;
  #own: NodeCapacity;
  #storageBytes: bigint | undefined;
  #seen = '';
  #last: { readonly own: NodeCapacity; readonly told: Amounts; readonly room: NodeCapacity } | undefined;
  #onChange: () => void = () => undefined;

  private constructor(options: NodeRoomOptions, facts: CapacityFacts) {
    this.#options = options;
    this.#own = this.#compute(facts);
    this.#seen = describe(this.current());
  }

  static async open(options: NodeRoomOptions): Promise<NodeRoom> {
    return new NodeRoom(options, await options.read());
  }

  current(): NodeCapacity {
    const told = this.#options.ofNode();
    if (told === undefined) return this.#own;
    const own = this.#own;
    if (this.#last?.own !== own || this.#last.told !== told) {
      this.#last = { own, told, room: larger(own, told) };
    }
    return this.#last.room;
  }

  /** Calls `listener` when it is found to be another than before. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Reads anew what the machine has. */
  async refresh(): Promise<void> {
    this.#own = this.#compute(await this.#options.read());
    this.look();
  }

  /** The Node may say something else than before. */
  look(): void {
    const now = describe(this.current());
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }

  /** A disk that does not answer for a moment is not gone. */
  #compute(facts: CapacityFacts): NodeCapacity {
    this.#storageBytes = facts.storageBytes ?? this.#storageBytes;
    return computeCapacity({ ...facts, storageBytes: this.#storageBytes });
  }
}

function larger(own: NodeCapacity, told: Amounts): NodeCapacity {
  const cpu = findQuantity(told['cpu'] ?? '');
  const max = (one: bigint, other: bigint): bigint => (one > other ? one : other);
  const others = new Map(own.others);
  for (const [name, text] of Object.entries(told)) {
    if (['pods', 'cpu', 'memory'].includes(name)) continue;
    others.set(name, max(others.get(name) ?? 0n, wholeUnitsOf(text)));
  }
  return {
    pods: Math.max(own.pods, Number(wholeUnitsOf(told['pods'] ?? ''))),
    cpuMilli: max(own.cpuMilli, cpu === undefined ? 0n : toMilliUnits(cpu)),
    memoryBytes: max(own.memoryBytes, wholeUnitsOf(told['memory'] ?? '')),
    others,
  };
}

function describe({ pods, cpuMilli, memoryBytes, others }: NodeCapacity): string {
  return [pods, cpuMilli, memoryBytes, ...[...others].flat()].join(' ');
}
