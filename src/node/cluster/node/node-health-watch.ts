import type { NodeHealth, NodeHealthPort } from '#cluster';
import { type CriClient, type Pleg } from '#watch';
import { type RuntimeState } from '../../pods/loop/runtime-state.js';
import { type Clock } from '#base/time/clock.js';
import { relistEnded } from '#base/channels/pleg-channels.js';
import { findCulprit } from './find-culprit.js';

/** What {@link NodeHealthWatch} needs. */
export interface NodeHealthWatchOptions {
  readonly pleg: Pick<Pleg, 'health'>;
  readonly runtimeState: Pick<RuntimeState, 'errors' | 'networkErrors' | 'onAnswer'>;
  readonly client: Pick<CriClient, 'callsInFlight'>;
  readonly clock: Clock;
}

/** That nothing happens is seen by looking. */
const LOOK_MS = 5_000;
/** By then a runtime is not slow to start but away. */
const KNOWN_AFTER_MS = 10_000;

/**
 * Tells the health of the agent to its Node, and when it has changed: at once where an answer of the runtime makes the
 * change, within five seconds where the absence of one does.
 */
export class NodeHealthWatch implements NodeHealthPort {
  readonly #options: NodeHealthWatchOptions;
  readonly #startedAtMs: number;
  readonly #listeners = new Set<() => void>();
  #hasAnswered = false;
  #told = '';
  #isEnding = false;

  constructor(options: NodeHealthWatchOptions) {
    this.#options = options;
    this.#startedAtMs = options.clock.monotonicMs();
  }

  health(): NodeHealth {
    const { pleg, runtimeState, client, clock } = this.#options;
    const ending = this.#isEnding ? ['node is shutting down'] : [];
    const problems = [...ending, ...runtimeState.errors(), ...runtimeState.networkErrors()];
    const health = pleg.health();
    const waitedMs = clock.monotonicMs() - this.#startedAtMs;
    const isKnown = (this.#hasAnswered && health.lastSeenAtMs !== undefined) || waitedMs >= KNOWN_AFTER_MS;
    if (problems.length === 0) return { isKnown, problems };
    const culprit = findCulprit({
      ...{ health, calls: client.callsInFlight() },
      nowMonotonicMs: clock.monotonicMs(),
    });
    return { isKnown, problems, ...(culprit === undefined ? {} : { culprit }) };
  }

  /** The agent ends and takes its pods along: the node is not well from now on, in the kubelet's words. */
  announceEnd(): void {
    this.#isEnding = true;
    this.#look();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtimeState, clock } = this.#options;
    const look = (): void => this.#look();
    const leave = [
      relistEnded.subscribe(look),
      runtimeState.onAnswer(() => {
        this.#hasAnswered = true;
        look();
      }),
    ];
    while (!signal.aborted) {
      look();
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
    for (const each of leave) each();
  }

  /** Tells whether pods can be run by now; that the same trouble goes on is no news. */
  #look(): void {
    const { isKnown, problems } = this.health();
    const verdict = JSON.stringify([isKnown, problems.length > 0]);
    if (verdict === this.#told) return;
    this.#told = verdict;
    for (const listener of this.#listeners) listener();
  }
}
