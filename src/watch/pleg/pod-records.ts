import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ObservedContainer, type ObservedPod, type PodStatus } from '../observed/runtime.js';
import { Backoff } from '#base/async/backoff.js';
import { type ClockTimer, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Trigger } from './events.js';
import { type InspectionHandle } from './inspection/inspection-pool.js';
import { NO_ENDS, type ToldEnds } from './announced/told-ends.js';

/** The first wait after a failed inspection that was retried once already, in milliseconds. */
const RETRY_INITIAL_MS = 1_000;
/** No pod waits longer than that for its next inspection, in milliseconds. */
const RETRY_MAX_MS = 30_000;
/** So many containers that came and went while a pod could not be inspected are kept by name; the rest is counted. */
export const FLEETING_LIMIT = 100;

/** What is wrong with a pod that cannot be inspected. */
export interface InspectionTrouble {
  /** Monotonic milliseconds at which it began. */
  readonly sinceMs: number;
  /** Wall-clock milliseconds at which it began, for people. */
  readonly sinceWallMs: number;
  /** Of the last inspection that ended; undefined while the first one hangs. */
  error: Error | undefined;
}

/**
 * What the generator remembers of one pod.
 *
 * `seen` is the newest look; `accepted` is the look whose events every subscriber has in its queue or fold. The
 * two differ while an inspection is due: `accepted` moves only when one has succeeded, so that whatever happened
 * meanwhile comes out then. What an event told at once of `ends` is in both; `looked` is without.
 */
export class PodRecord {
  pod: PodRef;
  accepted: ObservedPod | undefined = undefined;
  seen: ObservedPod;
  /** The newest look as the runtime answered it. */
  looked: ObservedPod;
  /** Ends that everybody was told of, and that no look has shown yet. */
  ends: ToldEnds = NO_ENDS;
  /** Stamp of the newest look, moved too when that look found the same again. */
  seenStamp: Stamp = OLDEST_STAMP;
  /** A status must be fetched though nothing changed: asked for, or the last one failed. */
  reinspect = false;
  /** What made the pod due; undefined when nothing is. */
  trigger: Trigger | undefined = undefined;
  /** Being inspected, or waiting for a place. One at a time. */
  inspection: InspectionHandle<unknown> | undefined = undefined;
  /** Resolves when that one has been taken in, or has turned out to be slow. */
  inspected: Promise<void> = Promise.resolve();
  /** The present inspection, or the last one, left the budget. */
  slow = false;
  /** Set while inspections hang or fail. */
  trouble: InspectionTrouble | undefined = undefined;
  /** Not to be inspected before, in monotonic milliseconds. */
  retryAtMs = 0;
  retryTimer: ClockTimer | undefined = undefined;
  readonly backoff = new Backoff({
    initialMs: RETRY_INITIAL_MS,
    maxMs: RETRY_MAX_MS,
    jitter: 0.2,
    firstAtOnce: true,
  });
  /** Addresses of the last good status: kept over tear-down. */
  ips: readonly string[] = [];
  /** The look of all pods that saw it last, to find out which are gone. */
  generation = 0;
  /** What an event told of a look, to be held against what the runtime answers. */
  told: { readonly seen: ObservedPod; readonly status: PodStatus } | undefined = undefined;
  /** A list showed it twice; said once. */
  toldOfDuplicate = false;
  /**
   * Containers that a look since `accepted` showed running or exited, and a newer one no longer shows: nobody has
   * been told of them, and the difference between `accepted` and `seen` does not hold them.
   */
  readonly #fleeting = new Map<string, ObservedContainer>();
  #fleetingUncounted = 0;

  constructor(seen: ObservedPod) {
    this.seen = seen;
    this.looked = seen;
    this.pod = refOf(seen);
  }

  /** Nothing is due, and nothing stands in the way of skipping it when the next look shows the same. */
  get isAtRest(): boolean {
    return this.accepted === this.seen && !this.reinspect && this.inspection === undefined;
  }

  /** Whether containers have come and gone that nobody was told of. */
  get hasFleeting(): boolean {
    return this.#fleeting.size > 0 || this.#fleetingUncounted > 0;
  }

  /** Those containers, but for what is in `snapshot`; and how many more there were. Nothing is forgotten by it. */
  fleeting(snapshot?: ObservedPod): { readonly containers: ObservedContainer[]; readonly more: number } {
    const there = idsOf(snapshot);
    const containers = [...this.#fleeting.values()].filter(({ id }) => !there.has(id));
    return { containers, more: this.#fleetingUncounted };
  }

  /** The events of `snapshot`, and of what came and went, have been handed out. */
  accept(snapshot: ObservedPod): void {
    this.accepted = snapshot;
    this.#fleeting.clear();
    this.#fleetingUncounted = 0;
  }

  /** Takes in what a look showed. */
  see(pod: ObservedPod, stamp: Stamp): void {
    if (this.seen !== pod && this.seen !== this.accepted) this.#noteFleeting(pod);
    if (this.pod.name !== pod.name || this.pod.namespace !== pod.namespace) this.pod = refOf(pod);
    this.seen = pod;
    this.seenStamp = stamp;
  }

  #noteFleeting(next: ObservedPod): void {
    const there = idsOf(next);
    for (const id of [...this.#fleeting.keys()]) if (there.has(id)) this.#fleeting.delete(id);
    let told: Set<string> | undefined;
    for (const member of [...this.seen.containers, ...this.seen.sandboxes]) {
      // Of a container that was only created there was nothing to tell.
      if ((member.state !== 'running' && member.state !== 'exited') || there.has(member.id)) continue;
      told ??= idsOf(this.accepted);
      if (told.has(member.id)) continue;
      if (this.#fleeting.size < FLEETING_LIMIT) this.#fleeting.set(member.id, member);
      else this.#fleetingUncounted++;
    }
  }
}

/** The record of every pod that a look has shown and no look since has shown to be gone. */
export class PodRecords {
  readonly #records = new Map<string, PodRecord>();
  #generation = 0;

  get size(): number {
    return this.#records.size;
  }

  find(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  /** The record of a pod, made when there is none. */
  ensure(pod: ObservedPod): PodRecord {
    let record = this.#records.get(pod.uid);
    if (record === undefined) this.#records.set(pod.uid, (record = new PodRecord(pod)));
    return record;
  }

  /** Forgets a pod that is gone. */
  delete(uid: string): void {
    this.#records.delete(uid);
  }

  /** Begins a look at all pods: records it shows are to be given this generation. */
  nextGeneration(): number {
    return ++this.#generation;
  }

  /** Those that the look of this generation did not show. */
  missingFrom(generation: number): PodRecord[] {
    return [...this.#records.values()].filter((record) => record.generation !== generation);
  }

  [Symbol.iterator](): IterableIterator<PodRecord> {
    return this.#records.values();
  }
}

function idsOf(pod: ObservedPod | undefined): Set<string> {
  return new Set([...(pod?.containers ?? []), ...(pod?.sandboxes ?? [])].map(({ id }) => id));
}

/** Uid, namespace and name, without what else a look holds. */
function refOf({ uid, namespace, name }: ObservedPod): PodRef {
  return { uid, namespace, name };
}
