import { createHash } from 'node:crypto';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { type PodStatus } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';

/** Options of {@link SettledPods}. */
export interface SettledPodsOptions {
  readonly clock: Clock;
  /**
   * How long a pod stays settled at most, even if nothing has changed that its syncs depend on (default: 10
   * min).
   */
  readonly countsForMs?: number | undefined;
}

interface SettledPod {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly untilMs: number;
}

/**
 * Pods whose last sync had nothing to do: the next one with the same manifest and view can be left out.
 *
 * Pods with a time set for their next sync are never settled, nor those with volumes that may change from
 * outside. Other inputs of a sync (a probe, an object that the pod refers to) request a sync when they
 * change.
 *
 * Each pod has its own time within the ten minutes, by its uid, so that pods that settled together are not
 * synced together ten minutes later and ever after.
 */
export class SettledPods {
  readonly #clock: Clock;
  readonly #countsForMs: number;
  readonly #pods = new Map<string, SettledPod>();

  constructor({ clock, countsForMs = 10 * 60_000 }: SettledPodsOptions) {
    this.#clock = clock;
    this.#countsForMs = countsForMs;
  }

  /** Records the result of a sync with this view. */
  note(pod: NodePod, observed: PodStatus, { unchanged, requeueAfterMs, isTerminal }: SyncPodResult): void {
    const { metadata, spec } = pod;
    const { volumes = [] } = spec;
    this.forget(metadata.uid);
    if (unchanged !== true || isTerminal || requeueAfterMs !== undefined || !volumes.every(isThePodsOwn))
      return;
    this.#pods.set(metadata.uid, { pod, observed, untilMs: this.#nextTurnMs(metadata.uid) });
  }

  /** Whether a sync of exactly this pod with exactly this view can be left out. */
  has(pod: NodePod, observed: PodStatus): boolean {
    const settled = this.#pods.get(pod.metadata.uid);
    if (settled?.pod !== pod || settled.observed !== observed) return false;
    return this.#clock.monotonicMs() < settled.untilMs;
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  #nextTurnMs(podUid: string): number {
    const nowMs = this.#clock.monotonicMs();
    const phaseMs = fractionOf(podUid) * this.#countsForMs;
    const sinceTurnMs = (nowMs + this.#countsForMs - phaseMs) % this.#countsForMs;
    return nowMs + this.#countsForMs - sinceTurnMs;
  }
}

/** From 0 to below 1, evenly distributed over many uids. */
function fractionOf(podUid: string): number {
  return createHash('md5').update(podUid).digest().readUInt32BE() / 2 ** 32;
}

/** Only the pod itself writes into the volume. */
function isThePodsOwn({ emptyDir }: Volume): boolean {
  return emptyDir !== undefined;
}
