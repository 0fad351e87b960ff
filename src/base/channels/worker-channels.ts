import { definePublishingChannel } from './publishing-channel.js';

/** One piece of work on a pod that ended. */
export interface PodSyncEnd {
  readonly uid: string;
  /** SyncPod, TerminatingPod or TerminatedPod. */
  readonly workType: string;
  /** create, update, sync or kill: the kubelet's value of the label operation_type. */
  readonly reason: string;
  /** From the request, the oldest of those folded, until the work began: with a new enough view, at its turn. */
  readonly waitedMs: number;
  /** From the request until the end of the work. */
  readonly durationMs: number;
  /** What was thrown; undefined when it went well. */
  readonly error: unknown;
  /** Newer work of the same pod cut it short: no failure, although something was thrown. False unless told. */
  readonly isOvertaken?: boolean;
}

/** A pod worker has ended a piece of work, well or not. */
export const podSyncEnded = definePublishingChannel<PodSyncEnd>('podloop:workers:sync:ended');
