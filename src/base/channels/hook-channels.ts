import { definePublishingChannel } from './publishing-channel.js';

/** A sleep hook ended early: its container, its pod or the agent did not wait for it. */
export const hookSleepCutShort = definePublishingChannel<{ readonly podUid: string }>(
  'podloop:sync:hook:sleep:cut-short',
);
