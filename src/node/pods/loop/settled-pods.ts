import { createHash } from 'node:crypto';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { type PodStatus } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';

/** What {@link SettledPods} are made with. */
export interface SettledPodsOptions {
  readonly clock: Clock;
  /** So often a pod is synced all the same, nothing that its syncs go by having changed (default: 10 min). */
  readonly countsForMs?: number | undefined;
}

interface SettledPod {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly untilMs: number;
}

/**
 * Pods whose last sync had nothing to do: with the same manifest and the same view of the runtime the next one would find
 * the same, so that it can be left out.
 *
 * Not those that are to be synced again at some time, nor those with volumes that may change from outside. What else a
 * sync goes by (a probe, an object that the pod refers to) has the pod synced when it changes.
 *
 * Each pod has a time of its own within the ten minutes, by its uid, so that pods which settled together are not all synced
 * together ten minutes later, and for ever after.
 */
export class SettledPods {
  readonly #clock: Clock;
  readonly #countsForMs: number;
  readonly #pods = new Map<string, SettledPod>();

  constructor({ clock, countsForMs = 10 * 60_000 }: SettledPodsOptions) {
    this.#clock = clock;
    this.#countsForMs = countsForMs;
  }

  /** The pod was synced with this view, and this came of it. */
  note(pod: NodePod, observed: PodStatus, { unchanged, requeueAfterMs, isTerminal }: SyncPodResult): void {
    const { metadata, spec } = pod;
    const { volumes = [] } = spec;
    this.forget(metadata.uid);
    if (unchanged !== true || isTerminal || requeueAfterMs !== undefined || !volumes.every(isThePodsOwn))
      return;
    this.#pods.set(metadata.uid, { pod, observed, untilMs: this.#nextTurnMs(metadata.uid) });
  }

  /** Whether a sync of this very pod with this very view need not be made now. */
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

/** Of 0 to below 1, even over many uids. */
function fractionOf(podUid: string): number {
  return createHash('md5').update(podUid).digest().readUInt32BE() / 2 ** 32;
}

/** Nobody else puts anything into it. */
function isThePodsOwn({ emptyDir }: Volume): boolean {
  return emptyDir !== undefined;
}
