import { definePublishingChannel } from './publishing-channel.js';

/** A pod's status was sent to an API server. */
export interface PodStatusReported {
  /** Since the first change that had not been sent yet. */
  readonly durationMs: number;
}

/** See {@link PodStatusTold}. */
export const podStatusReported = definePublishingChannel<PodStatusReported>(
  'podloop:cluster:pod:status:told',
);
