import { Cached } from '#base/async/cached.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type NodeFacts } from './compute-node-status.js';
import { computeResources, type NodeResources } from './compute-resources.js';
import { computeAddresses } from './node-addresses.js';
import { type NodeAddress, type NodeImage } from './node-object.js';
import { type MachineInfo, type NodeFactsPort, type RuntimeInfo } from './node-ports.js';
import { type EvictionThreshold } from '#kube/node/eviction-thresholds.js';

/** What {@link NodeFactsWatch} needs. */
export interface NodeFactsWatchOptions {
  readonly port: NodeFactsPort;
  /** What they leave is not for pods. */
  readonly hardThresholds: readonly EvictionThreshold[];
  /** Whether the Node says that volumes are in use. */
  readonly hasVolumesInUse: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A disk or a name server that does not answer is not waited for any longer; the heartbeat never waits for any of them. */
const DEADLINE_MS = 5_000;
/** The kubelet looks at the images that often; each time is a call of the runtime. */
const IMAGES_FRESH_FOR_MS = 30_000;
/** What changes only when somebody sits at the machine, or updates its runtime. */
const RARELY_CHANGED_FRESH_FOR_MS = 60_000;

/** The newest facts of a node, each looked up on its own so that one that hangs holds up no other. */
export class NodeFactsWatch {
  readonly #port: NodeFactsPort;
  readonly #clock: Clock;
  readonly #machine: Cached<MachineInfo>;
  readonly #resources: Cached<NodeResources>;
  readonly #addresses: Cached<readonly NodeAddress[]>;
  readonly #runtime: Cached<RuntimeInfo>;
  readonly #images: Cached<readonly NodeImage[]>;
  readonly #mounts: Cached<boolean>;

  constructor({ port, hardThresholds, hasVolumesInUse, clock, logger }: NodeFactsWatchOptions) {
    this.#port = port;
    this.#clock = clock;
    const keep = <Value>(
      name: string,
      freshMs: number,
      read: (signal: AbortSignal) => Promise<Value>,
    ): Cached<Value> =>
      new Cached({
        ...{ clock, freshMs, read, deadlineMs: DEADLINE_MS },
        late: () => new Error(`${name}: not found out within ${formatGoDuration(DEADLINE_MS)}`),
        onError: (error) => logger.error('Failed to set some node status fields', error, { fact: name }),
      });
    const rarely = RARELY_CHANGED_FRESH_FOR_MS;
    this.#machine = keep('machine', rarely, (signal) => port.machine(signal));
    this.#resources = keep('resources', rarely, async (signal) =>
      computeResources(await port.resources(signal), hardThresholds),
    );
    this.#addresses = keep('addresses', 0, async (signal) => computeAddresses(await port.addresses(signal)));
    this.#runtime = keep('runtime', rarely, (signal) => port.runtime(signal));
    // Nothing to report where nothing is in use.
    this.#mounts = keep('mounts', 0, async (signal) => !hasVolumesInUse() || port.hasAttachedMounts(signal));
    this.#images = keep('images', IMAGES_FRESH_FOR_MS, (signal) => port.images(signal));
  }

  /** As last found. */
  facts(): Omit<NodeFacts, 'pressure' | 'health'> {
    return {
      machine: this.#machine.value,
      resources: this.#resources.value,
      addresses: this.#addresses.value,
      runtime: this.#runtime.value,
      images: this.#images.value,
      hasAttachedMounts: this.#mounts.value,
      kubeletPort: this.#port.kubeletPort(),
    };
  }

  /** Reads the facts repeatedly until the signal aborts, then resolves; calls `onChange` when one has changed. */
  async run(periodMs: number, onChange: () => void, signal: AbortSignal): Promise<void> {
    const look = async (refresh: () => Promise<void>): Promise<void> => {
      while (!signal.aborted) {
        const before = JSON.stringify(this.facts());
        // Rejects only when aborted.
        await refresh().catch(() => undefined);
        if (JSON.stringify(this.facts()) !== before) onChange();
        await this.#clock.sleep(periodMs, signal).catch(() => undefined);
      }
    };
    // Each in its own time: a hung runtime does not hold up the facts of the machine.
    await Promise.all([
      look(async () => this.refreshMachine(signal)),
      look(async () => this.refreshRuntime(signal)),
    ]);
  }

  /** Reads the facts of the machine itself, which takes no time unless something hangs. */
  async refreshMachine(signal: AbortSignal): Promise<void> {
    const facts = [this.#machine, this.#resources, this.#addresses, this.#mounts];
    await Promise.all(facts.map(async (fact) => fact.refresh(signal)));
  }

  /** Looks under which addresses the machine is found. */
  async refreshAddresses(signal: AbortSignal): Promise<void> {
    await this.#addresses.refresh(signal);
  }

  /** Reads the facts that the runtime reports. */
  async refreshRuntime(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#runtime.refresh(signal), this.#images.refresh(signal)]);
  }
}
