import { definePublishingChannel } from './publishing-channel.js';

/** One finished piece of work on a pod. */
export interface PodSyncEnd {
  readonly uid: string;
  /** SyncPod, TerminatingPod or TerminatedPod. */
  readonly workType: string;
  /** create, update, sync or kill: the kubelet's value of the label operation_type. */
  readonly reason: string;
  /**
   * From the oldest of the folded requests to the start of the work: after a new enough status, at its turn.
   */
  readonly waitedMs: number;
  /** From the request to the end of the work. */
  readonly durationMs: number;
  /** The error; undefined if it succeeded. */
  readonly error: unknown;
  /**
   * Newer work of the same pod interrupted it, which is not a failure although an error was thrown (default:
   * false).
   */
  readonly isOvertaken?: boolean;
}

/** A pod worker has finished a piece of work, successfully or not. */
export const podSyncEnded = definePublishingChannel<PodSyncEnd>('podloop:workers:sync:ended');
