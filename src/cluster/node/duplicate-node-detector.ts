import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type NodeInfo, type NodeObject } from './node-object.js';
import { type MachineInfo, type NodeEvent } from './node-ports.js';

/** What a {@link DuplicateNodeDetector} needs. */
export interface DuplicateNodeDetectorOptions {
  readonly nodeName: string;
  readonly onEvent: (event: NodeEvent) => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
}

/** Who keeps a Node writes much oftener than that. */
const WINDOW_MS = 120_000;
const TELL_AGAIN_MS = 600_000;

/**
 * Tells of another agent that keeps the Node and the lease of this name as well: the two take them from one another, and both run
 * the pods. Once may be an agent that is just ending, or data that were restored; so it is told from the second sign on, and then
 * every ten minutes while there are any.
 */
export class DuplicateNodeDetector {
  readonly #options: DuplicateNodeDetectorOptions;
  readonly #signs = new Map<string, number>();
  #toldAtMs = -Infinity;
  #isOurs = false;

  constructor(options: DuplicateNodeDetectorOptions) {
    this.#options = options;
  }

  /** Whether the Node has been seen to describe this machine since its last boot. */
  get isOurs(): boolean {
    return this.#isOurs;
  }

  /** The lease was renewed, and not by us. */
  noteForeignRenewal(renewTime: string): void {
    this.#note('lease', `the lease was renewed at ${renewTime} by somebody else`);
  }

  /** The Node as it is seen, and what this machine is. */
  noteNode({ status }: NodeObject, machine: MachineInfo | undefined): void {
    const told: Partial<NodeInfo> | undefined = status.nodeInfo;
    if (told === undefined || machine === undefined) return;
    const ids = ['machineID', 'systemUUID', 'bootID'] as const;
    const differing = ids.filter(
      (id) => (told[id] ?? '') !== '' && machine[id] !== '' && told[id] !== machine[id],
    );
    if (differing.length === 0) this.#isOurs = true;
    // As long as it is not ours yet it is that of before.
    else if (this.#isOurs) {
      const words = differing.map((id) => `${id} ${told[id]} instead of ${machine[id]}`);
      this.#note('node', `the Node describes another machine: ${words.join(', ')}`);
    }
  }

  #note(kind: string, why: string): void {
    const { nodeName, onEvent, clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    const beforeMs = this.#signs.get(kind) ?? -Infinity;
    this.#signs.set(kind, nowMs);
    if (nowMs - beforeMs > WINDOW_MS || nowMs - this.#toldAtMs < TELL_AGAIN_MS) return;
    this.#toldAtMs = nowMs;
    const remedy = 'stop one of the two, or give it another --node-name';
    logger.warn('Another agent keeps the Node of this name, too', { node: { name: nodeName }, why, remedy });
    const message = `Another agent keeps the Node ${nodeName}, too: ${why}; ${remedy}`;
    onEvent({ type: 'Warning', reason: 'NodeNameConflict', message });
  }
}
