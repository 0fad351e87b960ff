import { type Channels } from '#base/channels/publishing-channel.js';
import type { NodeHealth, NodeHealthPort } from '#cluster';
import { type CriClient, type Pleg } from '#watch';
import { type RuntimeState } from '../../pods/loop/runtime-state.js';
import { type Clock } from '#base/time/clock.js';
import { NODE_SHUTTING_DOWN } from '#kube/node/shutdown-words.js';
import { relistEnded } from '#base/channels/pleg-channels.js';
import { findCulprit } from './find-culprit.js';

/** What {@link NodeHealthWatch} needs. */
export interface NodeHealthWatchOptions {
  readonly pleg: Pick<Pleg, 'health'>;
  readonly runtimeState: Pick<RuntimeState, 'errors' | 'networkErrors' | 'onAnswer'>;
  readonly client: Pick<CriClient, 'callsInFlight'>;
  readonly channels: Channels;
  readonly clock: Clock;
}

/** Polls, as silence causes no event. */
const LOOK_MS = 5_000;
/** After this time a runtime is away, not slow to start. */
const KNOWN_AFTER_MS = 10_000;

/**
 * Reports the health of the agent and its changes to the Node.
 *
 * A change that comes with an answer of the runtime is reported at once, one that comes with its silence
 * within five seconds.
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
    const ending = this.#isEnding ? [NODE_SHUTTING_DOWN] : [];
    const problems = [...runtimeState.errors(), ...runtimeState.networkErrors(), ...ending];
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

  /** Whether the machine shuts down, or the agent ends with its pods: the node is not healthy then. */
  announceEnd(isEnding: boolean): void {
    this.#isEnding = isEnding;
    this.#look();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Polls until the signal aborts; then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtimeState, channels, clock } = this.#options;
    const look = (): void => this.#look();
    const leave = [
      channels.subscribe(relistEnded, look),
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

  /** Reports whether pods can run now; an unchanged problem is no news. */
  #look(): void {
    const { isKnown, problems } = this.health();
    const verdict = JSON.stringify([isKnown, problems.length > 0]);
    if (verdict === this.#told) return;
    this.#told = verdict;
    for (const listener of this.#listeners) listener();
  }
}
