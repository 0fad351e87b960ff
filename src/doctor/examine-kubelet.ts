import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type HttpAnswer, type HttpCredentials, httpGet } from './facts/http-get.js';
import {
  type KubeletFacts,
  type KubeletHealth,
  type KubeletMetrics,
  type KubeletOperation,
} from './facts/kubelet-facts.js';
import { readWaitingPods } from './host/waiting-pods.js';
import { known, type Looked, notKnown } from './looked.js';
import { type ListedSandbox } from './runtime-port.js';
import { bucketsOf, bucketsSince, parseSamples, quantileOf, type Sample } from './facts/prometheus-text.js';

/** Where to search for a kubelet. */
export interface KubeletAddresses {
  /** Base addresses; the first that answers is used. */
  readonly urls: readonly string[];
  readonly healthzUrl: string;
  readonly credentials: HttpCredentials;
}

const RELIST_SECONDS = 'kubelet_pleg_relist_duration_seconds';
const OPERATION_SECONDS = 'kubelet_runtime_operations_duration_seconds';
const OPERATION_ERRORS = 'kubelet_runtime_operations_errors_total';
const LAST_SEEN = 'kubelet_pleg_last_seen_seconds';
const DISCARDED = 'kubelet_pleg_discard_events';
const INTERVAL_SECONDS = 'kubelet_pleg_relist_interval_seconds';
const STREAM_CONNECTIONS = 'kubelet_evented_pleg_connection_success_count';
/** podloop's own: a kubelet does not say. */
const THRESHOLD = 'podloop_pleg_threshold_seconds';
const ACTIVE_PODS = 'kubelet_active_pods';
const RUNNING_PODS = 'kubelet_running_pods';
const VOLUMES = 'volume_manager_total_volumes';
const WANTED = [
  ...[ACTIVE_PODS, RUNNING_PODS, VOLUMES],
  ...[RELIST_SECONDS, OPERATION_SECONDS, OPERATION_ERRORS, LAST_SEEN, DISCARDED],
  ...[INTERVAL_SECONDS, STREAM_CONNECTIONS, THRESHOLD],
];
/** Relists that are so far apart are those of an evented PLEG: its period is five minutes, that of others one to ten seconds. */
const EVENTED_INTERVAL_S = 60;
const MAX_WORDS = 500;
/** It answers within milliseconds when it is well; longer than that nobody waits for it. */
const MAX_TIMEOUT_MS = 5_000;

/** It took the connection and did not answer. */
class SilentKubeletError extends Error {}

/** A page of metrics at one time. */
interface Scrape {
  readonly base: string;
  readonly url: string;
  readonly samples: readonly Sample[];
}

/** Reads what a kubelet says at the begin of an examination and at its end. */
export class KubeletExaminer {
  readonly #addresses: KubeletAddresses;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;
  #before: Promise<Looked<Scrape>> = Promise.resolve(notKnown('it was not examined'));
  #health: Promise<Looked<KubeletHealth>> = Promise.resolve(notKnown('it was not examined'));
  #isSilent = false;
  #pods: Looked<unknown> = notKnown('the kubelet was not asked');

  constructor(options: {
    readonly addresses: KubeletAddresses;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
  }) {
    this.#addresses = options.addresses;
    this.#clock = options.clock;
    this.#signal = options.signal;
    this.#timeoutMs = Math.min(options.timeoutMs, MAX_TIMEOUT_MS);
  }

  /** The first reading, to compare the second with. Resolves once it is there; {@link end} waits for that by itself. */
  async begin(): Promise<void> {
    this.#before = this.#scrape();
    this.#health = this.#askHealth();
    await Promise.allSettled([this.#before, this.#health]);
  }

  /** The second reading. @param sandboxes what the runtime listed last, where it did */
  async end(sandboxes: readonly ListedSandbox[] = []): Promise<KubeletFacts> {
    const [early, first] = [await this.#health, await this.#before];
    // One that is silent is not asked again: that takes as long each time.
    const [health, after] = this.#isSilent
      ? [early, first]
      : await Promise.all([this.#askHealth(), this.#scrape()]);
    if (!after.known) {
      this.#pods = after;
      return { health, metrics: after, waiting: after };
    }
    const before = first.known ? first.value.samples : [];
    const { base, url, samples } = after.value;
    return {
      health,
      metrics: known({ url, ...readMetrics(samples, before, this.#clock.now()) }),
      waiting: await this.#readWaiting(base, sandboxes),
    };
  }

  /** The list of its pods, as it served it at the second reading. */
  get pods(): Looked<unknown> {
    return this.#pods;
  }

  async #readWaiting(base: string, sandboxes: readonly ListedSandbox[]): Promise<KubeletFacts['waiting']> {
    this.#pods = await this.#readPods(`${base.replace(/\/$/, '')}/pods`);
    return this.#pods.known
      ? known(readWaitingPods(this.#pods.value, sandboxes, this.#clock.now()))
      : this.#pods;
  }

  async #readPods(url: string): Promise<Looked<unknown>> {
    try {
      const { status, body } = await this.#get(url);
      return status === 200 ? known(JSON.parse(body)) : notKnown(`${url} answers ${status}`);
    } catch (error) {
      this.#signal.throwIfAborted();
      return notKnown(describe(url, error));
    }
  }

  async #askHealth(): Promise<Looked<KubeletHealth>> {
    const url = this.#addresses.healthzUrl;
    if (url === '') return notKnown('no address was given');
    try {
      const { status, body } = await this.#get(url);
      if (status === 401 || status === 403) return notKnown(`${url} answers ${status}`);
      return known({ url, healthy: status === 200, words: body.trim().slice(0, MAX_WORDS) });
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof SilentKubeletError)
        return known({ url, healthy: false, words: error.message, silentForMs: this.#timeoutMs });
      return notKnown(describe(url, error));
    }
  }

  async #scrape(): Promise<Looked<Scrape>> {
    const failures: string[] = [];
    for (const base of this.#addresses.urls) {
      const url = `${base.replace(/\/$/, '')}/metrics`;
      try {
        const { status, body } = await this.#get(url);
        if (status === 200) {
          const isWanted = (name: string): boolean => WANTED.some((wanted) => name.startsWith(wanted));
          return known({ base, url, samples: parseSamples(body, isWanted) });
        }
        failures.push(`${url} answers ${status}`);
      } catch (error) {
        this.#signal.throwIfAborted();
        failures.push(describe(url, error));
      }
    }
    return notKnown(failures.length === 0 ? 'no address was given' : failures.join('; '));
  }

  async #get(url: string): Promise<HttpAnswer> {
    const late = linkAbort(this.#signal);
    const deadline = startFairDeadline({
      ...{ clock: this.#clock, deadlineMs: this.#timeoutMs },
      onExpired: () => {
        this.#isSilent = true;
        late.abort(new SilentKubeletError(`no answer within ${this.#timeoutMs} ms`));
      },
    });
    try {
      return await httpGet(url, this.#addresses.credentials, late.signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      throw late.signal.aborted ? (late.signal.reason as Error) : error;
    } finally {
      deadline.cancel();
      late.unlink();
    }
  }
}

/** Reads what the samples say, of what came since where enough did. Pure. */
export function readMetrics(
  samples: readonly Sample[],
  before: readonly Sample[],
  nowMs: number,
): Omit<KubeletMetrics, 'url'> {
  const whole = bucketsOf(samples, RELIST_SECONDS).get('') ?? [];
  const recent = bucketsSince(whole, bucketsOf(before, RELIST_SECONDS).get('') ?? []);
  const isRecent = before.length > 0 && (recent.at(-1)?.count ?? 0) > 0;
  const buckets = isRecent ? recent : whole;
  const relistP99 = quantileOf(buckets, 0.99);
  const lastSeen = valueIn(samples, LAST_SEEN);
  const threshold = valueIn(samples, THRESHOLD);
  return {
    ...(lastSeen > 0 ? { lastSeenAgoMs: Math.max(0, nowMs - lastSeen * 1_000) } : {}),
    ...(threshold > 0 ? { thresholdMs: threshold * 1_000 } : {}),
    isEvented: isEvented(samples),
    ...(relistP99 === undefined ? {} : { relistP99Ms: relistP99 * 1_000 }),
    relists: buckets.at(-1)?.count ?? 0,
    isRecent,
    ...readPodCounts(samples),
    ...readVolumes(samples),
    sandboxErrors: sandboxErrorsIn(samples),
    sandboxErrorsLately:
      before.length > 0 ? Math.max(0, sandboxErrorsIn(samples) - sandboxErrorsIn(before)) : 0,
    eventsDiscarded: valueIn(samples, DISCARDED),
    eventsDiscardedLately:
      before.length > 0 ? Math.max(0, valueIn(samples, DISCARDED) - valueIn(before, DISCARDED)) : 0,
    operations: readOperations(samples, before),
  };
}

function valueIn(samples: readonly Sample[], wanted: string): number {
  return samples.find(({ name }) => name === wanted)?.value ?? 0;
}

/** It counts static pods and others apart. */
function readPodCounts(samples: readonly Sample[]): Pick<KubeletMetrics, 'podsWanted' | 'podsRunning'> {
  const wanted = samples.filter(({ name }) => name === ACTIVE_PODS);
  const running = samples.find(({ name }) => name === RUNNING_PODS);
  return {
    ...(wanted.length === 0 ? {} : { podsWanted: wanted.reduce((sum, { value }) => sum + value, 0) }),
    ...(running === undefined ? {} : { podsRunning: running.value }),
  };
}

/** It counts volumes by plugin, those that are wanted and those that are mounted. */
function readVolumes(samples: readonly Sample[]): Pick<KubeletMetrics, 'volumesMissing'> {
  const volumes = samples.filter(({ name }) => name === VOLUMES);
  if (volumes.length === 0) return {};
  const sumOf = (state: string): number =>
    volumes.filter(({ labels }) => labels['state'] === state).reduce((sum, { value }) => sum + value, 0);
  const missing = sumOf('desired_state_of_world') - sumOf('actual_state_of_world');
  return { volumesMissing: Math.max(0, missing) };
}

function sandboxErrorsIn(samples: readonly Sample[]): number {
  return errorsIn(samples).get('run_podsandbox') ?? 0;
}

/** Judged by what it did: before its second relist only the stream shows it. */
function isEvented(samples: readonly Sample[]): boolean {
  if (valueIn(samples, STREAM_CONNECTIONS) === 0) return false;
  const count = valueIn(samples, `${INTERVAL_SECONDS}_count`);
  return count === 0 || valueIn(samples, `${INTERVAL_SECONDS}_sum`) / count >= EVENTED_INTERVAL_S;
}

function errorsIn(samples: readonly Sample[]): Map<string, number> {
  const errors = samples.filter(({ name }) => name === OPERATION_ERRORS);
  return new Map(errors.map(({ labels, value }) => [labels['operation_type'] ?? '', value]));
}

function readOperations(samples: readonly Sample[], before: readonly Sample[]): KubeletOperation[] {
  const [errors, errorsBefore] = [errorsIn(samples), errorsIn(before)];
  const earlier = bucketsOf(before, OPERATION_SECONDS, 'operation_type');
  return [...bucketsOf(samples, OPERATION_SECONDS, 'operation_type')]
    .map(([operation, whole]) => {
      const recent = bucketsSince(whole, earlier.get(operation) ?? []);
      const isRecent = before.length > 0 && (recent.at(-1)?.count ?? 0) > 0;
      const buckets = isRecent ? recent : whole;
      const failed = (errors.get(operation) ?? 0) - (isRecent ? (errorsBefore.get(operation) ?? 0) : 0);
      return {
        ...{ operation, count: buckets.at(-1)?.count ?? 0, errors: Math.max(0, failed), isRecent },
        p99Ms: (quantileOf(buckets, 0.99) ?? 0) * 1_000,
      };
    })
    .sort((a, b) => b.p99Ms - a.p99Ms);
}

function describe(url: string, error: unknown): string {
  const code = systemCodeOf(error);
  return code === 'ECONNREFUSED' ? `nobody listens at ${url}` : `${url}: ${messageOf(error)}`;
}
