import { definePublishingChannel } from './publishing-channel.js';

/** A source told which pods it wants. */
export interface ConfigDelivery {
  /** `file`, `http`, `stdin`, `api`. */
  readonly source: string;
  /** Pods that it wants, those refused included. */
  readonly pods: number;
  /** Pods that another source has already. */
  readonly refused: number;
  /** Changes that took the place of one that nobody had read yet. */
  readonly folded: number;
  /** False while the source has not seen all that it is to read. */
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

/** One look of a source at what it watches ended: a scan of the folder, a request to the URL, standard input read. */
export interface SourceLook {
  readonly source: string;
  /** Milliseconds on the source's monotonic clock. */
  readonly durationMs: number;
  /** Files or bodies that were read and parsed anew. */
  readonly parsed: number;
  /** Pods that the source wants after it. */
  readonly pods: number;
  /** Problems that stand after it. */
  readonly problems: number;
  /** Why nothing could be seen; undefined when it could. */
  readonly error: string | undefined;
}

/** See {@link SourceLook}. */
export const sourceLookEnded = definePublishingChannel<SourceLook>('podloop:config:look:ended');
