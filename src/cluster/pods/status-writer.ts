/**
 * Reports the statuses of the node's pods to the API server, and deletes pods there that have ended.
 *
 * In: statuses as the agent computes them, and the pods as the API server has them ({@link KnownPods}). Out: patches of the
 * difference, one at a time for each pod and a few at once in all; a deletion of a pod that is to go, once nothing of it is
 * left on the node and its last status has been reported.
 *
 * Nothing is queued but the pod: what is sent is the newest status when its turn comes, so that any number of changes
 * fold while the server is away. What fails is tried again with growing delays, and at once when the server is back.
 * Statuses of static pods go to their mirror pods.
 *
 * @module
 */
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { Backoff } from '#base/async/backoff.js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { podStatusReported } from '#base/channels/cluster-pod-channels.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readUntilAborted } from '#base/async/read-until-aborted.js';
import { SliceYielder } from '#base/async/slices.js';
import { isAnswer, type KubeClient, retryAfterMsOf } from '../client/kube-client.js';
import { type AgentPods } from './agent-pods.js';
import {
  type ApiPod,
  hasEndedThere,
  isMirrorPod,
  isNamed,
  type NamedApiPod,
  pathOf,
  refOf,
} from './api-pod.js';
import { isOlder, type KnownPods } from './known-pods.js';
import { type MirrorPods } from './mirror-pods.js';
import { type PodSource } from './pod-source.js';
import { computeStatusPatch, isPartOf, type StatusPatch } from './status-patch.js';

/** What a {@link StatusWriter} needs. */
export interface StatusWriterOptions extends Publisher {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: Clock;
  readonly known: KnownPods;
  readonly agent: Pick<
    AgentPods,
    'findStatus' | 'findStatusPod' | 'statuses' | 'watchStatuses' | 'mayHaveRunning' | 'isFinished'
  >;
  readonly source: Pick<PodSource, 'findUntaken' | 'generationOf'>;
  readonly mirrors: Pick<MirrorPods, 'findMirror' | 'findStaticUid' | 'refresh'>;
  /** The server's answers do not go with what its watch has told of pods: it may have lost a part of what was written. */
  readonly onDoubt: () => void;
  readonly logger?: Logger;
  /** Pods that are written at once (default: 8). */
  readonly parallel?: number;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** What a {@link StatusWriter} has been through. */
export interface StatusWriterStats {
  readonly patches: number;
  readonly deletions: number;
  readonly failures: number;
  /** Changes that came while the pod waited for its turn already. */
  readonly folded: number;
  /** Pods that wait for their turn, for another try, or are being written. */
  readonly pending: number;
}

interface Retry {
  readonly backoff: Backoff;
  timer: ClockTimer | undefined;
}

const PARALLEL = 8;
/** How often to compare all pods with the API server's, as a kubelet does. */
const SWEEP_MS = 10_000;
/** Pods between two turns of the event loop. */
const SWEEP_SLICE = 32;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

/** See the module. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #logger: Logger;
  readonly #waiting = new Set<string>();
  readonly #busy = new Set<string>();
  /** Only of pods whose last attempt failed. */
  readonly #retries = new Map<string, Retry>();
  /** What the server made nothing of, as its answer shows it: by pod. It is not reported again. */
  readonly #unheard = new Map<string, string>();
  /**
   * Pods that the server was asked to take off: it is not asked again before it is shown to have them no more, or lists them all anew.
   * Nobody is in here that it was not last seen to have.
   */
  readonly #takenOff = new Set<string>();
  /** Pods that were not there to be written when that was tried last, though they are known to be. */
  readonly #missed = new Set<string>();
  /** Since when the server does not know how a pod is: of those that have changed and were not reported yet. */
  readonly #changedAtMs = new Map<string, number>();
  #signal: AbortSignal | undefined;
  readonly #stats = { patches: 0, deletions: 0, failures: 0, folded: 0 };

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    const touch = (pod: NamedApiPod): void => {
      const uid = isMirrorPod(pod) ? options.mirrors.findStaticUid(pod) : pod.metadata.uid;
      if (uid !== undefined) this.touch(uid);
    };
    options.known.listen({
      changed: touch,
      gone: ({ metadata: { uid } }) => this.#forget(uid),
      listed: () => {
        // One that is still there was perhaps restored with all the others.
        this.#takenOff.clear();
        this.#missed.clear();
        this.retryNow();
      },
    });
  }

  /** Counters as of now. */
  get stats(): StatusWriterStats {
    return { ...this.#stats, pending: this.#waiting.size + this.#busy.size };
  }

  /** Something about the pod may be worth telling; or nothing of it is left here, so that it can be taken off the server. */
  touch(uid: string): void {
    if (this.#waiting.has(uid)) this.#stats.folded++;
    this.#waiting.add(uid);
    this.#pump();
  }

  /** What failed is tried at once: the server is back. */
  retryNow(): void {
    for (const { timer } of this.#retries.values()) timer?.cancel();
    for (const retry of this.#retries.values()) retry.timer = undefined;
    this.#pump();
  }

  /** Writes until the signal aborts; resolves then, with what is under way left to itself. */
  async run(signal: AbortSignal): Promise<void> {
    const { agent, clock } = this.#options;
    this.#signal = signal;
    const changes = agent.watchStatuses();
    const follow = async (): Promise<void> => {
      for await (const change of readUntilAborted(changes, signal)) {
        if (change.type === 'resync') await this.#touchAll();
        else if (change.type === 'removed') this.#noticed(change.pod.uid);
        else this.#changed(change.record.pod.uid);
      }
    };
    const sweep = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.#touchAll();
        await clock.sleep(SWEEP_MS, signal).catch(() => undefined);
      }
    };
    try {
      await Promise.all([follow(), sweep()]);
    } finally {
      changes.close();
      for (const { timer } of this.#retries.values()) timer?.cancel();
    }
  }

  #changed(uid: string): void {
    if (!this.#changedAtMs.has(uid)) this.#changedAtMs.set(uid, this.#options.clock.monotonicMs());
    this.#noticed(uid);
  }

  #noticed(uid: string): void {
    // Perhaps of a static pod that has no copy on the server, or needs none any more.
    if (this.#options.known.find(uid) === undefined) this.#options.mirrors.refresh();
    this.touch(uid);
  }

  async #touchAll(): Promise<void> {
    const { agent, known } = this.#options;
    const uids = new Set([...agent.statuses()].map(({ pod }) => pod.uid));
    for (const pod of known.all()) if (!isMirrorPod(pod)) uids.add(pod.metadata.uid);
    const slices = new SliceYielder({ itemsPerSlice: SWEEP_SLICE });
    for (const uid of uids) {
      this.touch(uid);
      // Each is a comparison of two statuses.
      if (slices.isFull()) await slices.nextSlice();
    }
  }

  #pump(): void {
    const { parallel = PARALLEL } = this.#options;
    const signal = this.#signal;
    if (signal === undefined) return;
    for (const uid of this.#waiting) {
      if (signal.aborted || this.#busy.size >= parallel) return;
      if (this.#busy.has(uid) || this.#retries.get(uid)?.timer !== undefined) continue;
      this.#waiting.delete(uid);
      this.#busy.add(uid);
      void this.#serve(uid, signal);
    }
  }

  /** Never rejects. */
  async #serve(uid: string, signal: AbortSignal): Promise<void> {
    // A change during the write is reported with the next one.
    const changedAtMs = this.#changedAtMs.get(uid);
    this.#changedAtMs.delete(uid);
    try {
      const isTold = await this.#write(uid, signal);
      if (isTold && changedAtMs !== undefined) {
        publishTo(this.#options.channels, podStatusReported, {
          durationMs: this.#options.clock.monotonicMs() - changedAtMs,
        });
      }
      this.#retries.delete(uid);
      this.#missed.delete(uid);
    } catch (error) {
      if (!signal.aborted) this.#failed(uid, error, changedAtMs);
    } finally {
      this.#busy.delete(uid);
      this.#pump();
    }
  }

  #failed(uid: string, error: unknown, changedAtMs: number | undefined): void {
    const { clock, random = Math.random, known } = this.#options;
    this.#stats.failures++;
    const pod = known.find(uid)?.metadata ?? this.#options.agent.findStatus(uid)?.pod;
    // The name is another pod's by now, or nobody's: what is to be known of that comes by the watch.
    if (isAnswer(error, 404, 409)) {
      this.#logger.info('Pod is not there to be written', { pod, podUID: uid, err: error.message }, 2);
      this.#retries.delete(uid);
      // Unless it does not come: a watch may be a moment late, and not until the next look at all pods.
      if (this.#missed.has(uid)) this.#options.onDoubt();
      else if (this.#findTarget(uid) !== undefined) this.#missed.add(uid);
      return;
    }
    const retry = this.#retries.get(uid) ?? {
      backoff: new Backoff({
        ...{ initialMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, jitter: 0.5, random },
      }),
      timer: undefined,
    };
    this.#retries.set(uid, retry);
    const asked = retryAfterMsOf(error);
    const delayMs = Math.max(retry.backoff.nextMs(), Math.min(asked, MAX_RETRY_MS));
    const fields = { pod, podUID: uid, retryInMs: Math.round(delayMs) };
    this.#logger.error('Failed to update status for pod', error, fields);
    this.#waiting.add(uid);
    if (changedAtMs !== undefined) this.#changedAtMs.set(uid, changedAtMs);
    retry.timer = clock.setTimer(delayMs, () => {
      retry.timer = undefined;
      this.#pump();
    });
  }

  #forget(uid: string): void {
    this.#waiting.delete(uid);
    this.#unheard.delete(uid);
    this.#takenOff.delete(uid);
    this.#missed.delete(uid);
    this.#changedAtMs.delete(uid);
    this.#retries.get(uid)?.timer?.cancel();
    this.#retries.delete(uid);
  }

  #findTarget(uid: string): NamedApiPod | undefined {
    const { known, mirrors } = this.#options;
    return known.find(uid) ?? mirrors.findMirror(uid);
  }

  /** Whether the server has the pod's current status. */
  async #write(uid: string, signal: AbortSignal): Promise<boolean> {
    const { agent } = this.#options;
    const target = this.#findTarget(uid);
    if (target === undefined) {
      this.#unheard.delete(uid);
      return false;
    }
    const status = agent.findStatus(uid)?.status ?? this.#findUntaken(uid);
    const isTold = status !== undefined && (await this.#patch(uid, target, status, signal));
    await this.#deleteIfOver(uid, signal);
    return isTold;
  }

  #findUntaken(uid: string): V1PodStatus | undefined {
    const { agent, source } = this.#options;
    // What an agent before this one has started may run still: that it has ended would not be true.
    return agent.mayHaveRunning(uid) ? undefined : source.findUntaken(uid);
  }

  async #patch(uid: string, api: NamedApiPod, status: V1PodStatus, signal: AbortSignal): Promise<boolean> {
    const { client, known, onDoubt } = this.#options;
    const patch = this.#compute(uid, api, status);
    if (patch === undefined) return false;
    // Older servers ignore newer fields: they would be reported again and again.
    if (JSON.stringify(patch) === this.#unheard.get(uid)) return false;
    const answer = await client.request<ApiPod | undefined>({
      ...{ method: 'PATCH', path: `${pathOf(api.metadata)}/status`, body: patch, isUrgent: true, signal },
    });
    this.#stats.patches++;
    this.#logger.info('Status for pod updated successfully', { pod: refOf(api), podUID: uid, patch }, 4);
    known.update(answer);
    // What was just written is newer than anything that was there before, unless the server was restored from a backup.
    if (answer?.metadata?.uid === api.metadata.uid && isOlder(answer, api)) onDoubt();
    const left = this.#findUnheard(uid, patch, answer, status);
    if (left === undefined) this.#unheard.delete(uid);
    else this.#unheard.set(uid, JSON.stringify(left));
    return true;
  }

  /**
   * What is still to be told after the server has answered, of that alone which it was just told: all else that the answer
   * shows somebody has changed, and it is put right with the next turn.
   */
  #findUnheard(
    uid: string,
    sent: StatusPatch,
    answer: ApiPod | undefined,
    status: V1PodStatus,
  ): StatusPatch | undefined {
    if (answer === undefined || !isNamed(answer) || answer.metadata.uid !== sent.metadata.uid)
      return undefined;
    const left = this.#compute(uid, answer, status);
    return left !== undefined && isPartOf(left, sent) ? left : undefined;
  }

  #compute(uid: string, api: NamedApiPod, status: V1PodStatus) {
    const { agent, source, clock } = this.#options;
    const pod = agent.findStatusPod(uid);
    return computeStatusPatch({
      ...{ api, status, nowMs: clock.now() },
      mayHaveRunning: agent.mayHaveRunning(uid),
      generation: (pod === undefined ? undefined : source.generationOf(pod)) ?? api.metadata.generation,
    });
  }

  /** Only what was told how it ended, and of which nothing is left here: until then its name is not free for another. */
  async #deleteIfOver(uid: string, signal: AbortSignal): Promise<void> {
    const { client, known, agent } = this.#options;
    const api = known.find(uid);
    if (api?.metadata.deletionTimestamp === undefined || isMirrorPod(api) || !hasEndedThere(api)) return;
    if (!agent.isFinished(uid) || this.#takenOff.has(uid)) return;
    // Before it is sent: the watch may report the deletion before the answer comes.
    this.#takenOff.add(uid);
    try {
      await client.request({
        ...{ method: 'DELETE', path: pathOf(api.metadata), isUrgent: true, signal },
        body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } },
      });
    } catch (error) {
      // A conflict is not for ever, as long as the watch does not show that the name is another pod's.
      if (!isAnswer(error, 404)) this.#takenOff.delete(uid);
      throw error;
    }
    this.#stats.deletions++;
    this.#logger.info('Pod fully terminated and removed from etcd', { pod: refOf(api), podUID: uid }, 2);
  }
}
