import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodPaths } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { makePodFolders } from './pod-file-setup.js';

/** What a {@link PodFolders} needs. */
export interface PodFoldersOptions {
  readonly paths: PodPaths;
  readonly clock: Clock;
}

/** How long created folders count as present while nothing has to be put into them; in milliseconds. */
const SEEN_FOR_MS = 10 * 60_000;

/**
 * The folders of pods, checked only when needed: before something is created for the pod, and now and then.
 *
 * Otherwise a sync of an idle pod would spend most of its time on them.
 */
export class PodFolders {
  readonly #options: PodFoldersOptions;
  /**
   * By uid: for which pod they were created, and until when they count as present, in monotonic milliseconds.
   */
  readonly #seen = new Map<string, { readonly pod: NodePod; readonly untilMs: number }>();

  constructor(options: PodFoldersOptions) {
    this.#options = options;
  }

  /** Creates what is missing. Rejects with the system's error. */
  async make(pod: NodePod): Promise<void> {
    const { paths, clock } = this.#options;
    const { uid } = pod.metadata;
    this.#seen.delete(uid);
    await makePodFolders(paths, pod);
    this.#seen.set(uid, { pod, untilMs: clock.monotonicMs() + SEEN_FOR_MS });
  }

  /** Whether they were created for exactly this pod not long ago. */
  areSeen(pod: NodePod): boolean {
    const seen = this.#seen.get(pod.metadata.uid);
    return seen?.pod === pod && this.#options.clock.monotonicMs() < seen.untilMs;
  }

  forget(podUid: string): void {
    this.#seen.delete(podUid);
  }
}
