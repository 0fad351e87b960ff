import { type Channels } from '#base/channels/publishing-channel.js';
import { type ReportedInspection } from '#kube/node/pleg-report.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type InspectionInFlight } from '../pleg/index.js';
import { type InspectionEnd, inspectionEnded } from '#base/channels/pleg-channels.js';

/** How many pods are remembered: those inspected last. A node has a few hundred. */
const REMEMBERED_PODS = 2_000;
/** How many are reported. */
const REPORTED_PODS = 1_000;

interface Times {
  readonly pod: PodRef;
  lastMs: number;
  longestMs: number;
  count: number;
  failed: number;
}

/** How long the inspections of each pod took. */
export class InspectionTimes implements Disposable {
  /** By uid, in the order of the last inspection. */
  readonly #byUid = new Map<string, Times>();
  readonly #forget: () => void;

  constructor(channels: Channels) {
    this.#forget = channels.subscribe(inspectionEnded, (end) => this.#add(end));
  }

  /**
   * Slowest first: by the time of the running inspection so far, or of the last one. Forgets pods that are
   * not `present`.
   */
  list(inFlight: readonly InspectionInFlight[], present: ReadonlySet<string>): ReportedInspection[] {
    const agesMs = new Map(inFlight.map(({ pod, ageMs }) => [pod.uid, ageMs]));
    const pods: ReportedInspection[] = [];
    for (const [uid, times] of this.#byUid) {
      if (!present.has(uid)) this.#byUid.delete(uid);
      else pods.push({ ...times, ...inFlightMs(agesMs.get(uid)) });
    }
    for (const { pod, ageMs } of inFlight) {
      if (this.#byUid.has(pod.uid)) continue;
      pods.push({ pod, inFlightMs: ageMs, longestMs: 0, count: 0, failed: 0 });
    }
    return pods.sort((one, other) => slownessMs(other) - slownessMs(one)).slice(0, REPORTED_PODS);
  }

  [Symbol.dispose](): void {
    this.#forget();
  }

  #add({ pod: { uid, namespace, name }, durationMs, error }: InspectionEnd): void {
    const { count = 0, failed = 0, longestMs = 0 } = this.#byUid.get(uid) ?? {};
    this.#byUid.delete(uid);
    this.#byUid.set(uid, {
      // An observed pod refers to its whole list entry, so only its names are stored.
      pod: { uid, namespace, name },
      lastMs: durationMs,
      longestMs: Math.max(longestMs, durationMs),
      count: count + 1,
      failed: failed + Number(error !== undefined),
    });
    if (this.#byUid.size <= REMEMBERED_PODS) return;
    const [oldest] = this.#byUid.keys();
    if (oldest !== undefined) this.#byUid.delete(oldest);
  }
}

function inFlightMs(ageMs: number | undefined): { inFlightMs?: number } {
  return ageMs === undefined ? {} : { inFlightMs: ageMs };
}

function slownessMs({ inFlightMs: ageMs = 0, lastMs = 0 }: ReportedInspection): number {
  return Math.max(ageMs, lastMs);
}
