import { definePublishingChannel } from './publishing-channel.js';

/** A pod's status was sent to an API server. */
export interface PodStatusTold {
  /** Since the first change that had not been sent yet. */
  readonly durationMs: number;
}

/** See {@link PodStatusTold}. */
export const podStatusTold = definePublishingChannel<PodStatusTold>('podloop:cluster:pod:status:told');
