import { definePublishingChannel } from './publishing-channel.js';

/** An API server was told how a pod is. */
export interface PodStatusTold {
  /** Since the first change that it had not been told of yet. */
  readonly durationMs: number;
}

/** See {@link PodStatusTold}. */
export const podStatusTold = definePublishingChannel<PodStatusTold>('podloop:cluster:pod:status:told');
