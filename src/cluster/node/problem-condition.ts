/**
 * One condition of a Node that another program runs: what an observer found wrong with it.
 *
 * In: the newest state, however often it changes. Out: strategic merge patches of the Node's status that have this one type, so that
 * no condition of the kubelet is ever touched, and at the end one that takes the type away. While the API server is away only the
 * newest state waits.
 *
 * Source: https://kubernetes.io/docs/reference/node/node-status/#condition
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { Wakeup } from '#base/async/wakeup.js';
import { messageOf } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { isAnswer, type KubeClient } from '../client/kube-client.js';
import { type NodeCondition, readNode } from './node-object.js';

/** What {@link ProblemCondition} needs. */
export interface ProblemConditionOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly nodeName: string;
  /** Its type, which nobody else writes. */
  readonly type: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the condition is to say. */
export interface ProblemState {
  /** As usual for problems: `True` when there is one. */
  readonly isTrue: boolean;
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** What became of it so far. */
export interface ProblemConditionStats {
  readonly written: number;
  readonly failed: number;
}

/** Types that a kubelet or the control plane writes. */
const RESERVED_TYPES: ReadonlySet<string> = new Set([
  ...['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable', 'OutOfDisk'],
]);
const TYPE = /^[A-Za-z](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?$/;
/** At most one patch in this time, however often findings come and go. */
const MIN_INTERVAL_MS = 10_000;
/** The words of a message may have ages in them, which change all the time. */
const MESSAGE_INTERVAL_MS = 60_000;
/** Nothing new: as often as a node problem detector says that it is still there. */
const HEARTBEAT_MS = 300_000;
const REQUEST_MS = 15_000;

/** Why this is no type that podloop may write; undefined when it is one. */
export function findTypeProblem(type: string): string | undefined {
  if (RESERVED_TYPES.has(type))
    return `${type} is a condition of the kubelet: choose a name of your own, such as PodloopProblem`;
  return TYPE.test(type) ? undefined : 'use a name such as PodloopProblem';
}

/** See the module. */
export class ProblemCondition {
  readonly #options: ProblemConditionOptions;
  readonly #path: string;
  readonly #changed = new Wakeup();
  readonly #backoff = new Backoff({ initialMs: MIN_INTERVAL_MS, maxMs: 120_000, jitter: 0.5 });
  #wanted: ProblemState | undefined;
  /** When it was said last, monotonic. */
  #setAtMs = -Infinity;
  /** The Node may have the condition: it was found, or a patch may have arrived. */
  #mayExist = false;
  #written: { readonly state: ProblemState; readonly sinceText: string; readonly atMs: number } | undefined;
  #stats = { written: 0, failed: 0 };
  #isFailing = false;

  constructor(options: ProblemConditionOptions) {
    this.#options = options;
    this.#path = `/api/v1/nodes/${encodeURIComponent(options.nodeName)}`;
  }

  get stats(): ProblemConditionStats {
    return this.#stats;
  }

  /** Has it written in its time. */
  set(state: ProblemState): void {
    this.#wanted = state;
    this.#setAtMs = this.#options.clock.monotonicMs();
    this.#changed.wake();
  }

  /** Writes until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        const dueMs = this.#dueMs();
        if (dueMs !== 0) {
          await this.#changed.wait(clock, dueMs, signal);
          continue;
        }
        await clock.sleep(await this.#tryToWrite(signal), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Takes the condition away, so that no stale one is left on the Node. Never rejects. */
  async remove(signal: AbortSignal): Promise<void> {
    if (!this.#mayExist) return;
    try {
      await this.#patch({ $patch: 'delete', type: this.#options.type }, signal);
    } catch (error) {
      this.#options.logger.warn('The condition of the Node could not be removed', {
        ...{ type: this.#options.type, err: messageOf(error) },
      });
    }
  }

  /** In how many milliseconds there is something to write; undefined when that is at the next change. */
  #dueMs(): number | undefined {
    const wanted = this.#wanted;
    if (wanted === undefined) return undefined;
    if (this.#written === undefined) return 0;
    const { state, atMs } = this.#written;
    if (state.isTrue !== wanted.isTrue || state.reason !== wanted.reason) return 0;
    // A heartbeat says that somebody has examined the node since.
    if (this.#setAtMs <= atMs) return undefined;
    const intervalMs = state.message === wanted.message ? HEARTBEAT_MS : MESSAGE_INTERVAL_MS;
    return Math.max(0, atMs + intervalMs - this.#options.clock.monotonicMs());
  }

  /** Returns how long to rest afterwards. */
  async #tryToWrite(signal: AbortSignal): Promise<number> {
    const { type, logger } = this.#options;
    try {
      await this.#write(this.#wanted!, signal);
      this.#stats = { ...this.#stats, written: this.#stats.written + 1 };
      this.#backoff.reset();
      if (this.#isFailing) logger.info('The condition of the Node is written again', { type });
      this.#isFailing = false;
      return MIN_INTERVAL_MS;
    } catch (error) {
      signal.throwIfAborted();
      this.#stats = { ...this.#stats, failed: this.#stats.failed + 1 };
      if (!this.#isFailing) {
        const hint = isAnswer(error, 403)
          ? ': it takes the rights to get nodes and to patch nodes/status'
          : '';
        logger.warn(`The condition of the Node cannot be written${hint}`, { type, err: messageOf(error) });
      }
      this.#isFailing = true;
      return this.#backoff.nextMs();
    }
  }

  async #write(state: ProblemState, signal: AbortSignal): Promise<void> {
    const { type, clock } = this.#options;
    const status = toStatus(state);
    const now = toV1Time(clock.now());
    const before = this.#written ?? (await this.#readStored(signal));
    const sinceText = before !== undefined && toStatus(before.state) === status ? before.sinceText : now;
    const { reason, message } = state;
    const condition: NodeCondition = {
      ...{ type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: sinceText },
    };
    this.#mayExist = true;
    await this.#patch(condition, signal);
    this.#written = { state, sinceText, atMs: clock.monotonicMs() };
  }

  /** As an observer before this one has left it. */
  async #readStored(signal: AbortSignal): Promise<{ state: ProblemState; sinceText: string } | undefined> {
    const answer = await this.#options.client.request<unknown>({
      ...{ method: 'GET', path: this.#path, timeoutMs: REQUEST_MS, signal },
    });
    const found = readNode(answer)?.status.conditions.find(({ type }) => type === this.#options.type);
    if (found !== undefined) this.#mayExist = true;
    if (found?.lastTransitionTime === undefined || found.status === 'Unknown') return undefined;
    const { reason = '', message = '', lastTransitionTime: sinceText } = found;
    return { state: { isTrue: found.status === 'True', reason, message }, sinceText };
  }

  async #patch(condition: object, signal: AbortSignal): Promise<void> {
    await this.#options.client.request({
      ...{ method: 'PATCH', path: `${this.#path}/status`, body: { status: { conditions: [condition] } } },
      ...{ timeoutMs: REQUEST_MS, signal },
    });
  }
}

function toStatus({ isTrue }: ProblemState): 'True' | 'False' {
  return isTrue ? 'True' : 'False';
}
