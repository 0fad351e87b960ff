import { findQuantity, toMilliUnits, wholeUnitsOf } from '#kube/fields/quantity.js';
import { type NodeCapacity } from '../../pods/admission/admit-pod.js';
import { type CapacityFacts, computeCapacity, computeWholeMachine } from './node-capacity.js';

/** Amounts by resource, as a Node has them: `{ cpu: '2', memory: '4Gi' }`. */
type Amounts = Readonly<Record<string, string>>;

/** The facts that need no disk. */
type KernelFacts = Omit<CapacityFacts, 'storageBytes'>;

/** What a {@link AllocatableResources} needs. */
export interface NodeRoomOptions {
  /** What the machine has now, from the kernel. */
  readonly read: () => Promise<KernelFacts>;
  /** The size of the disk that pods write to; undefined when unknown. A disk may never answer. */
  readonly readStorage: () => Promise<bigint | undefined>;
  /** The API server's allocatable of the Node; undefined without a cluster, and before it was read. */
  readonly ofNode: () => Amounts | undefined;
}

/**
 * What all pods together may use on this node, as of now.
 *
 * A scheduler uses the Node's values, and a pod that is rejected here has failed for good. So everything that
 * the Node shows counts as available, and also what the machine has got since then.
 */
export class AllocatableResources {
  readonly #options: NodeRoomOptions;
  #facts: KernelFacts;
  #storageBytes: bigint | undefined;
  #own: NodeCapacity;
  /** From the same reading. */
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

  /** Waits for no disk: there is no disk space before {@link AllocatableResources.refreshStorage} has read its size. */
  static async open(options: NodeRoomOptions): Promise<AllocatableResources> {
    return new AllocatableResources(options, await options.read());
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

  /** Everything, including what is not for pods; never less than {@link current}. */
  whole(): NodeCapacity {
    return larger(this.#whole, this.current());
  }

  /** Calls `listener` when it has changed. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Reads again what the machine has, except its disk. */
  async refresh(): Promise<void> {
    this.#facts = await this.#options.read();
    this.#change();
  }

  /** Reads the size of the disk again. A disk that does not answer for a moment keeps its size. */
  async refreshStorage(): Promise<void> {
    this.#storageBytes = (await this.#options.readStorage()) ?? this.#storageBytes;
    this.#change();
  }

  /** The Node's values may have changed. */
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

/** The larger amount of each. */
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
