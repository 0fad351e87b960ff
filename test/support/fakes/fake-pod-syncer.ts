import { type NodePod } from '#kube/pod/node-pod.js';
import {
  type PodSyncer,
  type SyncPodResult,
  type SyncPodWork,
  type TerminatedPodWork,
  type TerminatingPodWork,
  type TerminatingRuntimePodWork,
} from '../../../src/node/pods/workers/pod-syncer.js';

/** A piece of work that a {@link FakePodSyncer} was asked for. */
export interface FakeSync {
  readonly kind: 'SyncPod' | 'TerminatingPod' | 'TerminatingRuntimePod' | 'TerminatedPod';
  readonly uid: string;
  /** What was asked for: of the kind's own shape. */
  readonly work: Partial<SyncPodWork & TerminatingPodWork & TerminatingRuntimePodWork & TerminatedPodWork>;
  readonly signal: AbortSignal;
  readonly isSettled: boolean;
  /** Lets it end well. */
  succeed(result?: Partial<SyncPodResult>): void;
  fail(error: unknown): void;
}

/**
 * A syncer that does nothing, and whose work ends when the test says so; at once and well after `autoSucceed`.
 *
 * It notes whether two pieces of work of one pod ever were under way at once.
 */
export class FakePodSyncer implements PodSyncer {
  readonly syncs: FakeSync[] = [];
  /** Every piece of work ends well as soon as it has begun. */
  autoSucceed = false;
  /** Called as a piece of work begins. */
  onBegin: (sync: FakeSync) => void = () => undefined;
  /** Uids of pods that were worked on twice at once. */
  readonly overlaps: string[] = [];

  /** The work that was asked for, in words: `SyncPod uid-web`. */
  get log(): string[] {
    return this.syncs.map(({ kind, uid }) => `${kind} ${uid}`);
  }

  /** The work under way. */
  get underWay(): FakeSync[] {
    return this.syncs.filter(({ isSettled }) => !isSettled);
  }

  /** The last piece of work, of one pod if a uid is given. Throws when there was none. */
  last(uid?: string): FakeSync {
    const found = this.syncs.findLast((sync) => uid === undefined || sync.uid === uid);
    if (found === undefined) throw new Error(`nothing was asked for ${uid ?? 'any pod'}`);
    return found;
  }

  /** Uids of pods that need no further sync. */
  readonly settled = new Set<string>();

  isSettled({ metadata }: NodePod): boolean {
    return this.settled.has(metadata.uid);
  }

  async syncPod(work: SyncPodWork, signal: AbortSignal): Promise<SyncPodResult> {
    return await this.#begin('SyncPod', work.pod.metadata.uid, work, signal);
  }

  async syncTerminatingPod(work: TerminatingPodWork, signal: AbortSignal): Promise<void> {
    await this.#begin('TerminatingPod', work.pod.metadata.uid, work, signal);
  }

  async syncTerminatingRuntimePod(work: TerminatingRuntimePodWork, signal: AbortSignal): Promise<void> {
    await this.#begin('TerminatingRuntimePod', work.runningPod.uid, work, signal);
  }

  async syncTerminatedPod(work: TerminatedPodWork, signal: AbortSignal): Promise<void> {
    await this.#begin('TerminatedPod', work.pod.metadata.uid, work, signal);
  }

  async #begin(
    kind: FakeSync['kind'],
    uid: string,
    work: FakeSync['work'],
    signal: AbortSignal,
  ): Promise<SyncPodResult> {
    if (this.underWay.some((other) => other.uid === uid)) this.overlaps.push(uid);
    return await new Promise<SyncPodResult>((resolve, reject) => {
      let isSettled = false;
      this.syncs.push({
        ...{ kind, uid, work, signal },
        get isSettled() {
          return isSettled;
        },
        succeed: (result) => {
          isSettled = true;
          resolve({ isTerminal: false, ...result });
        },
        fail: (error) => {
          isSettled = true;
          // A test may reject with whatever it likes.
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors
          reject(error);
        },
      });
      this.onBegin(this.last());
      if (this.autoSucceed) this.last().succeed();
    });
  }
}
