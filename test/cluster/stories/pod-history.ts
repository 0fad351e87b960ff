import { setTimeout as sleep } from 'node:timers/promises';
import { isAnswer, type KubeClient } from '../../../src/cluster/client/kube-client.js';
import { type KubeList, type Pod } from '../../../src/cluster/client/kube-objects.js';
import { bareId, statusesOf, titleOf, uidOf } from './find-disagreements.js';

/** Pods with this label may have containers that restart, and may fail. */
export const RESTARTS_LABEL = 'podloop.test/restarts';

/** What {@link PodHistory} needs. */
export interface PodHistoryOptions {
  readonly client: KubeClient;
  /** A pod is no longer in the API, as of about now. */
  readonly onGone: (pod: Pod) => void;
}

interface Told {
  pod: Pod;
  /** By the container's name. */
  readonly containers: Map<string, { id: string; restarts: number }>;
}

const PODS = '/api/v1/pods';
const RETRY_MS = 300;
const RANKS: Readonly<Record<string, number>> = { Pending: 0, Running: 1, Succeeded: 2, Failed: 2 };

/**
 * Follows all pods of an API server, and holds each version of each against the one before: phases go forward only, a pod
 * stays on its node, restart counts do not shrink, and a container that was well is not replaced.
 */
export class PodHistory {
  readonly #options: PodHistoryOptions;
  readonly #told = new Map<string, Told>();
  readonly #mayRestart = new Set<string>();
  readonly #problems: string[] = [];
  #versions = 0;
  #gone = 0;
  #gaps = 0;
  #newest = '';

  constructor(options: PodHistoryOptions) {
    this.#options = options;
  }

  /** What was wrong, in the order in which it was seen. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Versions of pods that were seen, pods that went, and times at which some may have been missed. */
  get counts(): { readonly versions: number; readonly gone: number; readonly gaps: number } {
    return { versions: this.#versions, gone: this.#gone, gaps: this.#gaps };
  }

  /** The pods of the API as they were seen last. */
  get pods(): readonly Pod[] {
    return [...this.#told.values()].map(({ pod }) => pod);
  }

  /** Whether the containers of that pod may restart, also of one that is gone. */
  mayRestart(uid: string): boolean {
    return this.#mayRestart.has(uid);
  }

  /** Follows until the signal aborts; resolves then. API servers may come and go meanwhile. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#newest === '') await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (isAborted(signal)) return;
        if (isAnswer(error, 410)) this.#newest = '';
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { items = [], metadata } = await this.#options.client.request<KubeList<Pod>>({
      ...{ method: 'GET', path: PODS, signal },
    });
    if (this.#versions > 0) this.#gaps++;
    const uids = new Set(items.map((pod) => uidOf(pod)));
    for (const [uid, { pod }] of this.#told) if (!uids.has(uid)) this.#remove(pod);
    for (const pod of items) this.#take(pod);
    this.#newest = metadata?.resourceVersion ?? '';
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const query = { resourceVersion: this.#newest, timeoutSeconds: '600' };
    for await (const { type, object } of this.#options.client.watch<Pod>({ path: PODS, query, signal })) {
      this.#newest = object.metadata?.resourceVersion ?? this.#newest;
      if (type === 'DELETED') this.#remove(object);
      else if (type !== 'BOOKMARK') this.#take(object);
    }
  }

  #remove(pod: Pod): void {
    this.#gone++;
    this.#take(pod);
    this.#told.delete(uidOf(pod));
    this.#options.onGone(pod);
  }

  #take(pod: Pod): void {
    this.#versions++;
    const uid = uidOf(pod);
    const before = this.#told.get(uid);
    const told: Told = before ?? { pod, containers: new Map() };
    this.#told.set(uid, told);
    const mayRestart = pod.metadata?.labels?.[RESTARTS_LABEL] !== undefined;
    if (mayRestart) this.#mayRestart.add(uid);
    if (before !== undefined) this.#compare(before.pod, pod);
    // One that is killed as it does not end by itself fails, too.
    const isDeleted = pod.metadata?.deletionTimestamp !== undefined;
    if (pod.status?.phase === 'Failed' && !mayRestart && !isDeleted) {
      const { reason = '', message = '' } = pod.status;
      if (before?.pod.status?.phase !== 'Failed') this.#complain(pod, `has failed: ${reason} ${message}`);
    }
    for (const { name, containerID = '', restartCount } of statusesOf(pod)) {
      const [id, last] = [bareId(containerID), told.containers.get(name)];
      if (last !== undefined && restartCount < last.restarts) {
        this.#complain(pod, `${name}: ${last.restarts} restarts became ${restartCount}`);
      }
      const isOther = last !== undefined && last.id !== '' && id !== last.id;
      if (isOther && (id === '' || !mayRestart)) {
        this.#complain(pod, `${name}: container ${last.id} became ${id === '' ? 'none' : id}`);
      } else if (restartCount > (last?.restarts ?? 0) && !mayRestart) {
        this.#complain(pod, `${name} was restarted: ${restartCount}`);
      }
      told.containers.set(name, { id: id === '' ? (last?.id ?? '') : id, restarts: restartCount });
    }
    told.pod = pod;
  }

  #compare(before: Pod, after: Pod): void {
    const [was, is] = [before.status?.phase ?? 'Pending', after.status?.phase ?? 'Pending'];
    const isBack = (RANKS[is] ?? 0) < (RANKS[was] ?? 0);
    if (isBack || (is !== was && RANKS[is] === RANKS[was]))
      this.#complain(after, `went from ${was} to ${is}`);
    const [from, to] = [before.spec?.nodeName, after.spec?.nodeName];
    if (from !== undefined && from !== to) this.#complain(after, `was on ${from} and is on ${to}`);
  }

  #complain(pod: Pod, what: string): void {
    this.#problems.push(`${titleOf(pod)} on ${pod.spec?.nodeName}: ${what}`);
  }
}

/** Asked by a function: it may have aborted while something was waited for. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
