import { type JournalRecord } from '../../journal/journal-record.js';
import { type PlegHealth } from '../../pleg/index.js';
import { type CriConnectionChange, criConnectionChanged } from '../../util/channels.js';
import { formatGoDuration } from '../../util/go-duration.js';
import { type RelistEnd, relistEnded } from '../../util/pleg-channels.js';
import { TOLD_AFTER_MS } from '../health-report.js';
import { type RecordMaker } from './sync-records.js';

/** What {@link RuntimeRecords} needs. */
export interface RuntimeRecordsOptions extends RecordMaker {
  readonly health: () => PlegHealth;
  /** While it is away all pods fail, which is no news of any of them. */
  readonly isRuntimeThere: () => boolean;
  /** Of the runtime that is meant, where a process has several. */
  readonly endpoint: string;
}

type Words = Pick<JournalRecord, 'kind' | 'type' | 'reason' | 'message'> & Partial<JournalRecord>;

/** How the keys of failed relists begin. */
const RELIST = 'relist ';

/** Records what becomes of the runtime: its connection, relists that fail, health, and pods that are stuck in it. */
export class RuntimeRecords implements Disposable {
  readonly #options: RuntimeRecordsOptions;
  readonly #leave: readonly (() => void)[];
  readonly #stuck = new Map<string, NonNullable<JournalRecord['pod']>>();
  #isConnected: boolean | undefined;
  #relistsFail = false;
  #isUnhealthy = false;

  constructor(options: RuntimeRecordsOptions) {
    this.#options = options;
    this.#leave = [
      criConnectionChanged.subscribe((change) => this.#connectionChanged(change)),
      relistEnded.subscribe((end) => this.#relistEnded(end)),
    ];
  }

  /** Looks at health as of now. */
  look(): void {
    const { healthy, message = '', lastSeenAtMs, stuckPods } = this.#options.health();
    // Before the first success there is nothing to have changed.
    const isUnhealthy = !healthy && lastSeenAtMs !== undefined;
    if (isUnhealthy !== this.#isUnhealthy) {
      this.#isUnhealthy = isUnhealthy;
      if (isUnhealthy) {
        this.#tell({
          ...{ kind: 'health', type: 'Warning', reason: 'Unhealthy' },
          message: `PLEG is not healthy: ${message}`,
        });
      } else
        this.#tell({ kind: 'health', type: 'Normal', reason: 'Healthy', message: 'PLEG is healthy again' });
    }
    if (this.#options.isRuntimeThere()) this.#lookAtPods(stuckPods);
  }

  [Symbol.dispose](): void {
    for (const leave of this.#leave) leave();
  }

  #lookAtPods(stuckPods: PlegHealth['stuckPods']): void {
    const present = new Set(stuckPods.map(({ pod }) => pod.uid));
    for (const [uid, pod] of this.#stuck) {
      if (present.has(uid)) continue;
      this.#stuck.delete(uid);
      this.#tell({
        kind: 'health',
        type: 'Normal',
        reason: 'PodNotStuck',
        message: 'The runtime answers for the pod again',
        pod,
      });
    }
    for (const { pod, state, forMs, error } of stuckPods) {
      if (forMs < TOLD_AFTER_MS || this.#stuck.has(pod.uid)) continue;
      this.#stuck.set(pod.uid, pod);
      const why = error === undefined ? '' : `: ${error}`;
      this.#tell({
        ...{ kind: 'health', type: 'Warning', reason: 'PodStuck', pod },
        message: `The runtime has not answered for the pod for ${formatGoDuration(Math.round(forMs))} (${state})${why}`,
      });
    }
  }

  #connectionChanged({ endpoint, state, generation }: CriConnectionChange): void {
    if (endpoint !== this.#options.endpoint || state === 'connecting') return;
    const isConnected = state === 'ready';
    if (isConnected === this.#isConnected || (this.#isConnected === undefined && !isConnected)) return;
    this.#isConnected = isConnected;
    const details = { endpoint, state, generation };
    if (isConnected) {
      this.#tell({
        kind: 'connection',
        type: 'Normal',
        reason: 'RuntimeConnected',
        message: `Connected to the runtime at ${endpoint}`,
        details,
      });
    } else if (state !== 'closed') {
      this.#tell({
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
      repeats.tell(`${RELIST}${error}`, { atMs: clock.now(), ...words, details });
    } else if (this.#relistsFail) {
      this.#relistsFail = false;
      this.#options.repeats.end(RELIST);
      this.#tell({
        kind: 'relist',
        type: 'Normal',
        reason: 'RelistSucceeded',
        message: 'All pods were listed again',
        details,
      });
    }
  }

  #tell(words: Words): void {
    const { append, clock } = this.#options;
    append({ atMs: clock.now(), ...words });
  }
}
