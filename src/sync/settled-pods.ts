import { type NodePod } from '../model/node-pod.js';
import { type Volume } from '../model/volume.js';
import { type PodStatus } from '../runtime/runtime.js';
import { type Clock } from '../util/clock.js';
import { type SyncPodResult } from '../workers/pod-syncer.js';

/** What {@link SettledPods} are made with. */
export interface SettledPodsOptions {
  readonly clock: Clock;
  /** For so long the last sync counts, as long as nothing that it went by has changed; 10 min unless told. */
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
    this.#pods.set(metadata.uid, { pod, observed, untilMs: this.#clock.monotonicMs() + this.#countsForMs });
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
}

/** Nobody else puts anything into it. */
function isThePodsOwn({ emptyDir }: Volume): boolean {
  return emptyDir !== undefined;
}
