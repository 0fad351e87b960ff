import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ObservedContainer, type ObservedPod, type PodStatus } from '../observed/runtime.js';
import { Backoff } from '#base/async/backoff.js';
import { type ClockTimer, OLDEST_STAMP, type Stamp } from '#base/time/clock.js';
import { type Trigger } from './pod-lifecycle-event.js';
import { type InspectionHandle } from './inspection/inspection-pool.js';
import { NO_EXITS, type AnnouncedExits } from './announced/announced-exits.js';

/** The first delay after a failed retry of an inspection, in milliseconds. */
const RETRY_INITIAL_MS = 1_000;
/** The longest delay of a retry, in milliseconds. */
const RETRY_MAX_MS = 30_000;
/**
 * How many containers that came and went while a pod could not be inspected are stored; the others are
 * counted.
 */
export const FLEETING_LIMIT = 100;

/** What is wrong with a pod that cannot be inspected. */
export interface InspectionTrouble {
  /** Monotonic milliseconds at which it began. */
  readonly sinceMs: number;
  /** Wall-clock milliseconds at which it began, for people. */
  readonly sinceWallMs: number;
  /** Error of the last finished inspection; undefined while the first one hangs. */
  error: Error | undefined;
}

/**
 * What the generator remembers of one pod.
 *
 * `seen` is the newest list entry; `accepted` is the one whose events every subscriber has in its queue or
 * fold. The two differ while an inspection is due: `accepted` moves only when one has succeeded, so that all
 * changes since then are published together. Exits published early (`ends`) are included in both; `looked` is
 * without them.
 */
export class PodRecord {
  pod: PodRef;
  accepted: ObservedPod | undefined = undefined;
  seen: ObservedPod;
  /** The newest list entry as the runtime returned it. */
  listed: ObservedPod;
  /** Exits that were published early and that no list has shown yet. */
  announcedExits: AnnouncedExits = NO_EXITS;
  /** Stamp of the newest list, which also advances when that list found the same again. */
  seenStamp: Stamp = OLDEST_STAMP;
  /** A status must be fetched though nothing changed: it was requested, or the last one failed. */
  reinspect = false;
  /** What made the pod due; undefined if nothing is due. */
  trigger: Trigger | undefined = undefined;
  /** The running or waiting inspection. One at a time. */
  inspection: InspectionHandle<unknown> | undefined = undefined;
  /** Resolves when that one is complete, or has turned out to be slow. */
  inspected: Promise<void> = Promise.resolve();
  /** Whether the present inspection, or the last one, left the budget. */
  slow = false;
  /** Set while inspections hang or fail. */
  trouble: InspectionTrouble | undefined = undefined;
  /** No inspection before this time, in monotonic milliseconds. */
  retryAtMs = 0;
  retryTimer: ClockTimer | undefined = undefined;
  readonly backoff = new Backoff({
    initialMs: RETRY_INITIAL_MS,
    maxMs: RETRY_MAX_MS,
    jitter: 0.2,
    firstAtOnce: true,
  });
  /** Addresses of the last good status: preserved during tear-down. */
  ips: readonly string[] = [];
  /** The last relist of all pods that saw it, to find out which pods are gone. */
  generation = 0;
  /** The status that an event had of a listed state, to compare it with the runtime's answer. */
  eventStatus: { readonly seen: ObservedPod; readonly status: PodStatus } | undefined = undefined;
  /** Whether it was logged that a list showed the pod twice. */
  hasLoggedDuplicate = false;
  /**
   * Containers that a list since `accepted` showed running or exited, and that a newer list no longer shows.
   *
   * Nothing was published of them, and the diff between `accepted` and `seen` does not contain them.
   */
  readonly #fleeting = new Map<string, ObservedContainer>();
  #fleetingUncounted = 0;

  constructor(seen: ObservedPod) {
    this.seen = seen;
    this.listed = seen;
    this.pod = refOf(seen);
  }

  /** Whether nothing is due, so that an unchanged entry in the next list can be skipped. */
  get isAtRest(): boolean {
    return this.accepted === this.seen && !this.reinspect && this.inspection === undefined;
  }

  /** Whether containers have come and gone without any event. */
  get hasFleeting(): boolean {
    return this.#fleeting.size > 0 || this.#fleetingUncounted > 0;
  }

  /** Those containers, without the ones in `snapshot`, and how many more there were. Changes nothing. */
  fleeting(snapshot?: ObservedPod): { readonly containers: ObservedContainer[]; readonly more: number } {
    const there = idsOf(snapshot);
    const containers = [...this.#fleeting.values()].filter(({ id }) => !there.has(id));
    return { containers, more: this.#fleetingUncounted };
  }

  /** Notes that the events of `snapshot`, and of what came and went, have been delivered. */
  accept(snapshot: ObservedPod): void {
    this.accepted = snapshot;
    this.#fleeting.clear();
    this.#fleetingUncounted = 0;
  }

  /** Applies a list entry. */
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
      // A container that was only created has nothing to publish.
      if ((member.state !== 'running' && member.state !== 'exited') || there.has(member.id)) continue;
      told ??= idsOf(this.accepted);
      if (told.has(member.id)) continue;
      if (this.#fleeting.size < FLEETING_LIMIT) this.#fleeting.set(member.id, member);
      else this.#fleetingUncounted++;
    }
  }
}

/** The records of all pods that a list has shown and no later list has shown to be gone. */
export class PodRecords {
  readonly #records = new Map<string, PodRecord>();
  #generation = 0;

  get size(): number {
    return this.#records.size;
  }

  find(uid: string): PodRecord | undefined {
    return this.#records.get(uid);
  }

  /** The record of a pod, made if there is none. */
  ensure(pod: ObservedPod): PodRecord {
    let record = this.#records.get(pod.uid);
    if (record === undefined) this.#records.set(pod.uid, (record = new PodRecord(pod)));
    return record;
  }

  /** Forgets a pod that is gone. */
  delete(uid: string): void {
    this.#records.delete(uid);
  }

  /** Begins a relist of all pods: the records of the pods that it shows get this generation. */
  nextGeneration(): number {
    return ++this.#generation;
  }

  /** The records of pods that the relist of this generation did not show. */
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

/** Uid, namespace and name, without the rest of a list entry. */
function refOf({ uid, namespace, name }: ObservedPod): PodRef {
  return { uid, namespace, name };
}
