import { type JournalRecord, type RecordMaker } from '#history';
import { type PlegHealth } from '#watch';
import { type CriConnectionChange, criConnectionChanged } from '#base/channels/channels.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type RelistEnd, relistEnded } from '#base/channels/pleg-channels.js';
import { type HealthChange, HealthChanges } from '../telemetry/reports/health-changes.js';

/** What {@link RuntimeRecords} needs. */
export interface RuntimeRecordsOptions extends RecordMaker {
  readonly health: () => PlegHealth;
  /** While the runtime is away all pods fail, which is no news about any of them. */
  readonly isRuntimeThere: () => boolean;
  /** Selects the runtime if a process has several. */
  readonly endpoint: string;
}

type Words = Pick<JournalRecord, 'kind' | 'type' | 'reason' | 'message'> & Partial<JournalRecord>;

/** Prefix of the keys of failed relists. */
const RELIST = 'relist ';

/**
 * Records what happens to the runtime: its connection, failed relists, health, and pods that are stuck in it.
 */
export class RuntimeRecords implements Disposable {
  readonly #options: RuntimeRecordsOptions;
  readonly #leave: readonly (() => void)[];
  readonly #changes = new HealthChanges();
  #isConnected: boolean | undefined;
  #relistsFail = false;

  constructor(options: RuntimeRecordsOptions) {
    this.#options = options;
    this.#leave = [
      options.channels.subscribe(criConnectionChanged, (change) => this.#connectionChanged(change)),
      options.channels.subscribe(relistEnded, (end) => this.#relistEnded(end)),
    ];
  }

  /** Checks the present health. */
  look(): void {
    const { health, isRuntimeThere } = this.#options;
    for (const change of this.#changes.update(health(), isRuntimeThere())) {
      const words = describeChange(change);
      if (words !== undefined) this.#record({ kind: 'health', ...words });
    }
  }

  [Symbol.dispose](): void {
    for (const leave of this.#leave) leave();
  }

  #connectionChanged({ endpoint, state, generation }: CriConnectionChange): void {
    if (endpoint !== this.#options.endpoint || state === 'connecting') return;
    const isConnected = state === 'ready';
    if (isConnected === this.#isConnected || (this.#isConnected === undefined && !isConnected)) return;
    this.#isConnected = isConnected;
    const details = { endpoint, state, generation };
    if (isConnected) {
      this.#record({
        kind: 'connection',
        type: 'Normal',
        reason: 'RuntimeConnected',
        message: `Connected to the runtime at ${endpoint}`,
        details,
      });
    } else if (state !== 'closed') {
      this.#record({
        kind: 'connection',
        type: 'Warning',
        reason: 'RuntimeDisconnected',
        message: `The connection to the runtime at ${endpoint} broke`,
        details,
      });
    }
  }

  #relistEnded({ scope, error, durationMs, trigger }: RelistEnd): void {
    if (scope !== 'all') return;
    const details = { trigger, durationMs: Math.round(durationMs) };
    if (error !== undefined) {
      this.#relistsFail = true;
      const { repeats, clock } = this.#options;
      const words = { kind: 'relist', type: 'Warning', reason: 'RelistFailed', message: error } as const;
      repeats.fold(`${RELIST}${error}`, { atMs: clock.now(), ...words, details });
    } else if (this.#relistsFail) {
      this.#relistsFail = false;
      this.#options.repeats.end(RELIST);
      this.#record({
        kind: 'relist',
        type: 'Normal',
        reason: 'RelistSucceeded',
        message: 'All pods were listed again',
        details,
      });
    }
  }

  #record(words: Words): void {
    const { append, clock } = this.#options;
    append({ atMs: clock.now(), ...words });
  }
}

/** Undefined for changes that the records of relists and calls cover. */
function describeChange(change: HealthChange): Omit<Words, 'kind'> | undefined {
  switch (change.type) {
    case 'unhealthy':
      return { type: 'Warning', reason: 'Unhealthy', message: `PLEG is not healthy: ${change.message}` };
    case 'healthy':
      return { type: 'Normal', reason: 'Healthy', message: 'PLEG is healthy again' };
    case 'podStuck': {
      const { pod, state, forMs, error } = change;
      const why = error === undefined ? '' : `: ${error}`;
      const message = `The runtime has not answered for the pod for ${formatGoDuration(Math.round(forMs))} (${state})${why}`;
      return { type: 'Warning', reason: 'PodStuck', pod, message };
    }
    case 'podFree': {
      const message = 'The runtime answers for the pod again';
      return { type: 'Normal', reason: 'PodNotStuck', pod: change.pod, message };
    }
    default:
      return undefined;
  }
}
