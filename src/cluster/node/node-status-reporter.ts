/**
 * Keeps the status of a Node true.
 *
 * In: the Node as the API server has it, watched or asked for, and a function that says how it should be. Out: a PATCH when the two differ, or
 * when the last one is five minutes old. It compares every ten seconds, and at once when it is woken: so the first Ready
 * is there the moment the runtime is up.
 *
 * Nothing here waits for a fact of the machine; what could not be found out is left out. A request that fails is tried
 * again, five times in all, and from the second failure on the connection is dropped: a server that went away without a
 * word would be waited for until TCP gives up.
 *
 * Source: https://kubernetes.io/docs/reference/node/node-status/#heartbeats
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import {
  nodeRegistrationStepped,
  type NodeStatusSync,
  nodeStatusSynced,
} from '#base/channels/node-channels.js';
import { Wakeup } from '#base/async/wakeup.js';
import { askedDelayMs, isGone, type NodeApi } from './node-api.js';
import { type NodeObject } from './node-object.js';
import { type NodeEvent } from './node-ports.js';
import { diffNodes } from './node-status-patch.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';

/** What {@link NodeStatusReporter} needs. */
export interface NodeStatusReporterOptions extends Publisher {
  readonly api: NodeApi;
  readonly nodeName: string;
  /** The desired Node, given the present one, and the events to emit once the difference is sent. */
  readonly compute: (node: NodeObject) => {
    readonly node: NodeObject;
    readonly events: readonly NodeEvent[];
  };
  /** The Node as it is known to be now, without asking; undefined when nobody knows. */
  readonly latest: () => NodeObject | undefined;
  /** The newest resourceVersion of the Node that was seen. */
  readonly seenVersion: () => string | undefined;
  readonly updateFrequencyMs: number;
  readonly reportFrequencyMs: number;
  /** Called for each Node that the API server has sent, and when there is none. */
  readonly onNode: (node: NodeObject | undefined) => void;
  readonly onEvent: (event: NodeEvent) => void;
  readonly dropConnection: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** The kubelet's. */
const MAX_TRIES = 5;
const FIRST_RETRY_MS = 100;
/** By how much more the time between looks may be, so that nodes do not look in step. */
const JITTER = 0.04;
/** A health that goes up and down makes no more looks than this many within {@link BURST_MS}; the next is in its time. */
const MAX_WAKES = 5;
const BURST_MS = 10_000;

/** See the comment of this module. */
export class NodeStatusReporter {
  readonly #options: NodeStatusReporterOptions;
  readonly #random: () => number;
  readonly #wakeup = new Wakeup();
  /** Monotonic milliseconds of the last looks that were set off by a wake. */
  readonly #wakes: number[] = [];
  #sentAtMs: number | undefined;
  /** So that nodes that were started together do not report together for ever. */
  #delayMs = 0;
  /** What was last sent and taken, without heartbeats. */
  #lastSent = '';
  #failing = false;
  #isReady = false;

  constructor(options: NodeStatusReporterOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** Something may have changed that should be reported at once. */
  wake(): void {
    this.#wakeup.wake();
  }

  /** Compares and sends until the signal aborts; resolves then. The Node has to be there. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, updateFrequencyMs } = this.#options;
    try {
      for (;;) {
        await this.#sync(signal);
        await this.#wait(clock.monotonicMs() + updateFrequencyMs * (1 + JITTER * this.#random()), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Until the time has come, or until it is woken before. */
  async #wait(dueAtMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      const leftMs = dueAtMs - clock.monotonicMs();
      if (leftMs <= 0) return;
      await this.#wakeup.wait(clock, leftMs, signal);
      const nowMs = clock.monotonicMs();
      if (nowMs >= dueAtMs) return;
      while (this.#wakes[0] !== undefined && nowMs - this.#wakes[0] >= BURST_MS) this.#wakes.shift();
      if (this.#wakes.length >= MAX_WAKES) continue;
      this.#wakes.push(nowMs);
      return;
    }
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { clock, logger, dropConnection } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const backoff = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: 1_000 });
    for (let failures = 0; ;) {
      try {
        const outcome = await this.#try(failures, signal);
        if (this.#failing) logger.info('Node status can be updated again');
        this.#failing = false;
        this.#publish({ outcome, failures }, startedAtMs);
        return;
      } catch (error) {
        signal.throwIfAborted();
        failures++;
        if (isGone(error)) {
          this.#logGone();
          this.#publish({ outcome: 'gone', failures }, startedAtMs);
          return;
        }
        if (failures > 1) dropConnection();
        if (failures === MAX_TRIES) {
          // One line for an outage; the metrics count on.
          if (!this.#failing) logger.error('Unable to update node status', error);
          this.#failing = true;
          this.#publish({ outcome: 'failed', failures }, startedAtMs);
          return;
        }
        logger.info('Error updating node status, will retry', { err: messageOf(error) }, 4);
        await clock.sleep(Math.max(backoff.nextMs(), askedDelayMs(error)), signal);
      }
    }
  }

  async #try(failures: number, signal: AbortSignal): Promise<'sent' | 'unchanged'> {
    const { api, compute, latest, onNode, onEvent } = this.#options;
    // Once a try has failed, it is asked for what is stored.
    const original = (failures === 0 ? latest() : undefined) ?? (await this.#get(failures, signal));
    const { node, events } = compute(original);
    const { body, isChange } = diffNodes(original, node);
    const summary = summarize(body);
    // It was taken: whatever is the same difference later, somebody has made.
    if (!isChange) this.#lastSent = '';
    // An API server that drops a field would else be sent it with every look.
    const isNews = isChange && summary !== this.#lastSent;
    if (body === undefined || (!isNews && !this.#isReportDue())) return 'unchanged';
    const { reportFrequencyMs, clock } = this.#options;
    const isFirst = this.#sentAtMs === undefined;
    this.#delayMs = isChange || isFirst ? reportFrequencyMs * (this.#random() - 0.5) : 0;
    const updated = await api.patchStatus(body, signal);
    this.#sentAtMs = clock.monotonicMs();
    this.#lastSent = summary;
    onNode(updated);
    this.#publishReady(updated);
    for (const event of events) onEvent(event);
    return 'sent';
  }

  #isReportDue(): boolean {
    const { clock, reportFrequencyMs } = this.#options;
    if (this.#sentAtMs === undefined) return true;
    return clock.monotonicMs() - this.#sentAtMs >= reportFrequencyMs + this.#delayMs;
  }

  #publishReady({ status: { conditions } }: NodeObject): void {
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (isReady && !this.#isReady) {
      publishTo(this.#options.channels, nodeRegistrationStepped, {
        step: 'ready',
        atMs: this.#options.clock.now(),
      });
    }
    this.#isReady = isReady;
  }

  #logGone(): void {
    const { logger, nodeName, onNode } = this.#options;
    if (!this.#failing) {
      logger.error('Node was deleted from the API server and is not registered again', undefined, {
        node: { name: nodeName },
        remedy: 'restart podloop to register it, or leave the cluster by stopping it',
      });
    }
    this.#failing = true;
    this.#lastSent = '';
    onNode(undefined);
  }

  /** What the API server remembers costs it next to nothing; it must be no older than what it has told before. */
  async #get(failures: number, signal: AbortSignal): Promise<NodeObject> {
    const { api, onNode, seenVersion } = this.#options;
    const node = await api.get(signal, failures === 0 ? { notBefore: seenVersion() ?? '0' } : {});
    onNode(node);
    return node;
  }

  #publish(sync: Pick<NodeStatusSync, 'outcome' | 'failures'>, startedAtMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.now();
    publishTo(this.#options.channels, nodeStatusSynced, {
      ...sync,
      durationMs: clock.monotonicMs() - startedAtMs,
      atMs,
    });
  }
}

/** Two patches that differ in their heartbeats alone have the same one. */
function summarize(body: unknown): string {
  return JSON.stringify(body ?? null, (key, value: unknown) =>
    key === 'lastHeartbeatTime' ? undefined : value,
  );
}
