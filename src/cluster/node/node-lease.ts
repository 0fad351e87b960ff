/**
 * Keeps the lease of a node, by which the control plane knows that it lives.
 *
 * In: the uid of the Node that the lease belongs to. Out: a Lease in kube-node-lease whose renewTime is never older than
 * the duration of the lease as long as the API server can be reached, whatever else the agent is busy with.
 *
 * It counts on nobody else changing the lease: it is written on top of what was read last, and read again only when that
 * fails. Then it is told of, when somebody else has renewed it.
 *
 * Source: https://kubernetes.io/docs/concepts/architecture/leases/#node-heart-beats
 *
 * @module
 */
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { isRecord } from '#base/text/is-record.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { type NodeLeaseTry, nodeLeaseTried } from '#base/channels/node-channels.js';
import { type KubeClient } from '../client/kube-client.js';
import { isSurelyOlder } from '../watch/resource-version.js';
import { askedDelayMs, isConflict, isGone } from './node-api.js';

/** What {@link NodeLease} needs. */
export interface NodeLeaseOptions extends Publisher {
  /** Of its own: nothing else may wait in its way. */
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly leaseDurationMs: number;
  /** Of each request. */
  readonly timeoutMs: number;
  /** Of the Node as it was seen last; undefined when there was none. */
  readonly nodeUid: () => string | undefined;
  /** Asks for it: a lease that is made for a Node that is gone would be cleared away again. Undefined when there is none. */
  readonly findNodeUid: (signal: AbortSignal) => Promise<string | undefined>;
  readonly dropConnection: () => void;
  /** It was found to have been renewed by somebody else since we did. */
  readonly onForeignRenewal?: (renewTime: string) => void;
  /** It was renewed again after it could not be. */
  readonly onRecovered: () => void;
  /** The API server is at an older version than one that it had answered with: it was restored from a backup. */
  readonly onRestored?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** As much of a Lease as is looked at; all else is sent back as it came. */
interface Lease {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

type Answer = { readonly ok: true; readonly lease: Lease } | { readonly ok: false; readonly error: unknown };

const NAMESPACE = 'kube-node-lease';
const PATH = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
/** Renewed after a quarter of its duration, so that three renewals may fail; the kubelet's. */
const RENEWALS = 4;
const JITTER = 0.04;
const MAX_TRIES = 5;
/** Answers to so many renewals may be lost before one of them is taken for somebody else's. */
const MAX_OWN_TIMES = 50;
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 7_000;

/** See the comment of this module. */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #random: () => number;
  /** As the API server has answered last. */
  #latest: Lease | undefined;
  /** Of a lease, this one or one before it. Whatever is written or asked for later is newer, if nothing was restored. */
  #newestVersion: string | undefined;
  /** When it was renewed last, and when that was tried since: the answer may have been lost. */
  #ownTimes: readonly string[] = [];
  #failing = false;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** Renews the lease until the signal aborts; resolves then. The Node has to be there. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, leaseDurationMs } = this.#options;
    const periodMs = leaseDurationMs / RENEWALS;
    try {
      for (;;) {
        await this.#renew(signal);
        await clock.sleep(periodMs * (1 + JITTER * this.#random()), signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    if (this.#latest !== undefined && (await this.#update(this.#latest, signal))) return;
    const found = await this.#ensure(signal);
    // One that was just made needs no renewal.
    if (found !== undefined && !found.isNew) await this.#update(found.lease, signal);
  }

  /** Renews it, in a few attempts; false if something is left to be done. */
  async #update(lease: Lease, signal: AbortSignal): Promise<boolean> {
    let base = lease;
    for (let failures = 0; failures < MAX_TRIES;) {
      const body = this.#write(base);
      const path = `${PATH}/${encodeURIComponent(this.#options.nodeName)}`;
      const done = await this.#try('renewed', { method: 'PUT', path, body }, signal);
      if (done.ok) return true;
      failures++;
      if (isGone(done.error)) {
        this.#latest = undefined;
        return false;
      }
      if (isConflict(done.error)) {
        const found = await this.#ensure(signal);
        if (found === undefined || found.isNew) return true;
        base = found.lease;
        continue;
      }
      if (failures > 1) this.#options.dropConnection();
      await this.#options.clock.sleep(Math.max(FIRST_DELAY_MS, askedDelayMs(done.error)), signal);
    }
    return false;
  }

  /** The lease as it is stored; made when there is none. Tries until it succeeds; undefined while there is no Node for it. */
  async #ensure(
    signal: AbortSignal,
  ): Promise<{ readonly lease: Lease; readonly isNew: boolean } | undefined> {
    const { nodeName, clock } = this.#options;
    const backoff = new Backoff({ initialMs: FIRST_DELAY_MS, maxMs: MAX_DELAY_MS });
    for (let failures = 0; ;) {
      const path = `${PATH}/${encodeURIComponent(nodeName)}`;
      let done: Answer | undefined = await this.#try(undefined, { method: 'GET', path }, signal);
      if (done.ok) return { lease: done.lease, isNew: false };
      if (isGone(done.error)) {
        done = await this.#create(signal);
        if (done === undefined) {
          this.#latest = undefined;
          this.#publish('waiting', clock.monotonicMs());
          return undefined;
        }
        if (done.ok) return { lease: done.lease, isNew: true };
      }
      failures++;
      if (failures > 1) this.#options.dropConnection();
      const delayMs = Math.max(backoff.nextMs(), askedDelayMs(done.error));
      this.#logFailure(done.error, delayMs);
      await clock.sleep(delayMs, signal);
    }
  }

  /** Undefined while there is no Node that it could belong to. */
  async #create(signal: AbortSignal): Promise<Answer | undefined> {
    try {
      const uid = await this.#options.findNodeUid(signal);
      if (uid === undefined) return undefined;
      const body = this.#write(undefined, uid);
      return await this.#try('created', { method: 'POST', path: PATH, body }, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, error };
    }
  }

  async #try(
    outcome: 'renewed' | 'created' | undefined,
    request: { readonly method: 'GET' | 'PUT' | 'POST'; readonly path: string; readonly body?: unknown },
    signal: AbortSignal,
  ): Promise<Answer> {
    const { client, clock, timeoutMs } = this.#options;
    const startedAtMs = clock.monotonicMs();
    try {
      const lease = await client.request<unknown>({ ...request, timeoutMs, signal });
      // Whoever has answered so has not renewed it.
      if (!isLease(lease)) throw new TypeError('the API server answered with something that is no Lease');
      const before = this.#newestVersion;
      this.#newestVersion = versionOf(lease);
      if (isSurelyOlder(this.#newestVersion, before)) this.#logRestored(before);
      this.#latest = lease;
      if (outcome === undefined) this.#look(lease);
      else {
        this.#ownTimes = this.#ownTimes.slice(-1);
        this.#publish(outcome, startedAtMs);
        this.#logSuccess();
      }
      return { ok: true, lease };
    } catch (error) {
      signal.throwIfAborted();
      const isMissing = outcome === undefined && isGone(error);
      if (!isMissing) this.#publish(isConflict(error) ? 'conflict' : 'failed', startedAtMs);
      return { ok: false, error };
    }
  }

  /** The lease as it should be now: what others have written into it stays. */
  #write(base: Lease | undefined, uid = this.#options.nodeUid()): Lease {
    const { nodeName, leaseDurationMs, clock } = this.#options;
    const renewTime = toMicroTime(clock.now());
    this.#ownTimes = [...this.#ownTimes, renewTime].slice(-MAX_OWN_TIMES);
    const { metadata = { name: nodeName, namespace: NAMESPACE }, spec = { holderIdentity: nodeName } } =
      base ?? {};
    return {
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      ...base,
      metadata: {
        ...metadata,
        ...(uid === undefined ? {} : { ownerReferences: this.#ownersOf(metadata, uid) }),
      },
      spec: {
        ...spec,
        leaseDurationSeconds: Math.round(leaseDurationMs / 1_000),
        renewTime,
      },
    };
  }

  /** A Node that was deleted and made again has another uid, and a lease of the old one would be cleared away. */
  #ownersOf({ ownerReferences: owners }: Readonly<Record<string, unknown>>, uid: string): unknown[] {
    const { nodeName: name } = this.#options;
    const others = (Array.isArray(owners) ? (owners as readonly unknown[]) : []).filter((owner) => {
      const each = (owner ?? {}) as { readonly kind?: unknown; readonly name?: unknown };
      return each.kind !== 'Node' || each.name !== name;
    });
    return [...others, { apiVersion: 'v1', kind: 'Node', name, uid }];
  }

  #look({ spec }: Lease): void {
    const renewTime = spec?.['renewTime'];
    if (this.#ownTimes.length === 0 || typeof renewTime !== 'string') return;
    if (!this.#ownTimes.includes(renewTime)) this.#options.onForeignRenewal?.(renewTime);
  }

  #logFailure(error: unknown, delayMs: number): void {
    // One line for an outage; the metrics count on.
    if (!this.#failing) {
      const interval = formatGoDuration(delayMs);
      this.#options.logger.error('Failed to ensure lease exists, will retry', error, { interval });
    }
    this.#failing = true;
  }

  #logSuccess(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.logger.info('Lease of the node is renewed again');
    this.#options.onRecovered();
  }

  #logRestored(before: string | undefined): void {
    const versions = { resourceVersion: this.#newestVersion, before };
    this.#options.logger.warn('The API server was restored from a backup, listing again', versions);
    this.#options.onRestored?.();
  }

  #publish(outcome: NodeLeaseTry['outcome'], startedAtMs: number): void {
    const { clock } = this.#options;
    publishTo(this.#options.channels, nodeLeaseTried, {
      outcome,
      durationMs: clock.monotonicMs() - startedAtMs,
      atMs: clock.now(),
    });
  }
}

function versionOf({ metadata }: Lease): string | undefined {
  const version = metadata?.['resourceVersion'];
  return typeof version === 'string' ? version : undefined;
}

function isLease(answer: unknown): answer is Lease {
  return isRecord(answer) && isRecord(answer['metadata']);
}

/** `2006-01-02T15:04:05.000000Z`, as Kubernetes writes times that are held against one another. */
function toMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
