import { definePublishingChannel } from './publishing-channel.js';

/** A source delivered its desired pods. */
export interface ConfigDelivery {
  /** `file`, `http`, `stdin`, `api`. */
  readonly source: string;
  /** The pods that it wants, rejected ones included. */
  readonly pods: number;
  /** Pods that another source already has. */
  readonly refused: number;
  /** Changes that replaced one that nobody had read yet. */
  readonly folded: number;
  /** False until the source has read everything once. */
  readonly isComplete: boolean;
}

/** A source delivered. */
export const configDelivered = definePublishingChannel<ConfigDelivery>('podloop:config:delivered');

/** A change of pods was handed to the sync loop. */
export interface ConfigUpdate {
  readonly source: string;
  /** ADD, UPDATE, REMOVE, RECONCILE or DELETE. */
  readonly type: string;
  readonly pods: number;
}

/** See {@link ConfigUpdate}. */
export const configUpdateHandedOut = definePublishingChannel<ConfigUpdate>('podloop:config:update');

/** A source has finished reading: a scan of the folder, a request to the URL, or standard input. */
export interface SourceLook {
  readonly source: string;
  /** Milliseconds on the source's monotonic clock. */
  readonly durationMs: number;
  /** Files or bodies that were parsed because they had changed. */
  readonly parsed: number;
  /** The pods that the source wants afterwards. */
  readonly pods: number;
  /** The remaining problems. */
  readonly problems: number;
  /** Why nothing could be read; undefined if it succeeded. */
  readonly error: string | undefined;
}

/** See {@link SourceLook}. */
export const sourceLookEnded = definePublishingChannel<SourceLook>('podloop:config:look:ended');
