import { type Clock, type Stamp } from '#base/time/clock.js';
import { type Trigger } from '../pod-lifecycle-event.js';

/** A request to list one pod. */
export interface RelistRequest {
  readonly uid: string;
  readonly trigger: Trigger;
  /** When it was requested: a list with a newer stamp answers it. */
  readonly stamp: Stamp;
}

/**
 * Requests to list single pods: one per pod, with the newest time, first come first served.
 *
 * Beyond `capacity` pods the requests fold into one for all pods.
 */
export class RelistRequests {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #onArrival: () => void;
  readonly #byUid = new Map<string, RelistRequest>();
  #all: RelistRequest | undefined;
  #coalesced = 0;
  #folded = 0;

  /** `onArrival` is called for each request. */
  constructor(options: { clock: Clock; capacity: number; onArrival: () => void }) {
    this.#clock = options.clock;
    this.#capacity = options.capacity;
    this.#onArrival = options.onArrival;
  }

  /** How many pods wait for a list of their own. */
  get size(): number {
    return this.#byUid.size;
  }

  /** Whether a relist of all pods is requested. */
  get wantsAll(): boolean {
    return this.#all !== undefined;
  }

  /** How many requests joined one that was waiting already. */
  get coalesced(): number {
    return this.#coalesced;
  }

  /** How many requests were folded into one for all pods. */
  get folded(): number {
    return this.#folded;
  }

  /** Requests a list of one pod. The first requester sets the trigger; the last one sets the time. */
  add(uid: string, trigger: Trigger): void {
    const earlier = this.#byUid.get(uid);
    if (earlier !== undefined) {
      this.#coalesced++;
      this.#byUid.set(uid, { ...earlier, stamp: this.#clock.stamp() });
    } else if (this.#byUid.size < this.#capacity) {
      this.#byUid.set(uid, { uid, trigger, stamp: this.#clock.stamp() });
    } else {
      this.#folded++;
      this.addAll(trigger);
      return;
    }
    this.#onArrival();
  }

  /** Requests a relist of all pods. */
  addAll(trigger: Trigger): void {
    this.#all = { uid: '', trigger: this.#all?.trigger ?? trigger, stamp: this.#clock.stamp() };
    this.#onArrival();
  }

  /** Takes the pod that has waited longest. */
  takeNext(): RelistRequest | undefined {
    for (const [uid, request] of this.#byUid) {
      this.#byUid.delete(uid);
      return request;
    }
    return undefined;
  }

  /** Takes the request for one pod if it is older than `stamp`. */
  takeAnswered(uid: string, stamp: Stamp): RelistRequest | undefined {
    const request = this.#byUid.get(uid);
    if (request === undefined || request.stamp >= stamp) return undefined;
    this.#byUid.delete(uid);
    return request;
  }

  /** Takes every request that a relist of all pods with this stamp answers. */
  takeAllAnswered(stamp: Stamp): {
    readonly byUid: ReadonlyMap<string, Trigger>;
    readonly all: Trigger | undefined;
  } {
    const byUid = new Map<string, Trigger>();
    for (const [uid, request] of this.#byUid) {
      if (request.stamp >= stamp) continue;
      this.#byUid.delete(uid);
      byUid.set(uid, request.trigger);
    }
    const all = this.#all;
    if (all === undefined || all.stamp >= stamp) return { byUid, all: undefined };
    this.#all = undefined;
    return { byUid, all: all.trigger };
  }
}
