import { findQuantity, toMilliUnits, wholeUnitsOf } from '#kube/fields/quantity.js';
import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type CapacityFacts, computeCapacity, computeWholeMachine } from './node-capacity.js';

/** Amounts by resource, as a Node has them: `{ cpu: '2', memory: '4Gi' }`. */
type Amounts = Readonly<Record<string, string>>;

/** What no disk is asked for. */
type KernelFacts = Omit<CapacityFacts, 'storageBytes'>;

/** What a {@link NodeRoom} needs. */
export interface NodeRoomOptions {
  /** What the machine has now, as the kernel tells by itself. */
  readonly read: () => Promise<KernelFacts>;
  /** The size of the disk that pods write to; undefined when that cannot be told. A disk may never answer. */
  readonly readStorage: () => Promise<bigint | undefined>;
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
  #facts: KernelFacts;
  #storageBytes: bigint | undefined;
  #own: NodeCapacity;
  /** Of the same reading. */
  #whole: NodeCapacity;
  #seen = '';
  #last: { readonly own: NodeCapacity; readonly told: Amounts; readonly room: NodeCapacity } | undefined;
  #onChange: () => void = () => undefined;

  private constructor(options: NodeRoomOptions, facts: KernelFacts) {
    this.#options = options;
    this.#facts = facts;
    [this.#own, this.#whole] = this.#compute();
    this.#seen = describe(this.current());
  }

  /** Waits for no disk: there is no room on one before {@link NodeRoom.refreshStorage} has found how large it is. */
  static async open(options: NodeRoomOptions): Promise<NodeRoom> {
    return new NodeRoom(options, await options.read());
  }

  current(): NodeCapacity {
    const told = this.#options.ofNode();
    if (told === undefined) return this.#own;
    const own = this.#own;
    if (this.#last?.own !== own || this.#last.told !== told) {
      this.#last = { own, told, room: larger(own, toCapacity(told)) };
    }
    return this.#last.room;
  }

  /** All that there is, also what is not for pods; never less than {@link current}. */
  whole(): NodeCapacity {
    return larger(this.#whole, this.current());
  }

  /** Calls `listener` when it is found to be another than before. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Reads anew what the machine has, but for its disk. */
  async refresh(): Promise<void> {
    this.#facts = await this.#options.read();
    this.#change();
  }

  /** Reads anew how large the disk is. One that cannot tell for a moment is not gone. */
  async refreshStorage(): Promise<void> {
    this.#storageBytes = (await this.#options.readStorage()) ?? this.#storageBytes;
    this.#change();
  }

  /** The Node may say something else than before. */
  look(): void {
    const now = describe(this.current());
    if (now === this.#seen) return;
    this.#seen = now;
    this.#onChange();
  }

  #change(): void {
    [this.#own, this.#whole] = this.#compute();
    this.look();
  }

  #compute(): [own: NodeCapacity, whole: NodeCapacity] {
    const now = { ...this.#facts, storageBytes: this.#storageBytes };
    return [computeCapacity(now), computeWholeMachine(now)];
  }
}

function toCapacity(told: Amounts): NodeCapacity {
  const { pods = '', cpu = '', memory = '', ...others } = told;
  const amount = findQuantity(cpu);
  return {
    pods: Number(wholeUnitsOf(pods)),
    cpuMilli: amount === undefined ? 0n : toMilliUnits(amount),
    memoryBytes: wholeUnitsOf(memory),
    others: new Map(Object.entries(others).map(([name, text]) => [name, wholeUnitsOf(text)])),
  };
}

/** Of each the larger one. */
function larger(one: NodeCapacity, other: NodeCapacity): NodeCapacity {
  const max = (first: bigint, second: bigint): bigint => (first > second ? first : second);
  const others = new Map(one.others);
  for (const [name, amount] of other.others) others.set(name, max(others.get(name) ?? 0n, amount));
  return {
    pods: Math.max(one.pods, other.pods),
    cpuMilli: max(one.cpuMilli, other.cpuMilli),
    memoryBytes: max(one.memoryBytes, other.memoryBytes),
    others,
  };
}

function describe({ pods, cpuMilli, memoryBytes, others }: NodeCapacity): string {
  return [pods, cpuMilli, memoryBytes, ...[...others].flat()].join(' ');
}
