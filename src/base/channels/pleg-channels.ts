import { type CriCallPod } from './channels.js';
import { definePublishingChannel } from './publishing-channel.js';

/** One relist that ended: of all pods, or of one. */
export interface RelistEnd {
  readonly scope: 'all' | 'pod';
  /** What asked for it: initial, relist, event or request. */
  readonly trigger: string;
  /** Wall-clock milliseconds at which it began. */
  readonly startedAtMs: number;
  /** From its begin until nobody need wait for it any longer. */
  readonly durationMs: number;
  /** From the begin of the last one of all pods that succeeded until this one began; undefined when there was none. */
  readonly sinceLastMs: number | undefined;
  /** The list calls alone. */
  readonly listMs: number;
  /** Comparing with the records. */
  readonly diffMs: number;
  /** Pods that the answer showed. */
  readonly pods: number;
  /** Pods that were found due for inspection. */
  readonly due: number;
  /** Message of the error that ended it; undefined when it succeeded. */
  readonly error: string | undefined;
}

/** A relist ended, well or not. */
export const relistEnded = definePublishingChannel<RelistEnd>('podloop:pleg:relist:ended');

/** One inspection of a pod that ended by itself: answered, failed, or given up for its length. */
export interface InspectionEnd {
  readonly pod: CriCallPod;
  readonly durationMs: number;
  /** It had left the budget: nobody waited for it any longer. */
  readonly wasSlow: boolean;
  /** Message of the error that ended it; undefined when it succeeded. */
  readonly error: string | undefined;
}

/** The status of a pod was fetched, well or not. */
export const inspectionEnded = definePublishingChannel<InspectionEnd>('podloop:pleg:inspection:ended');

/** An event that the runtime sent. */
export interface RuntimeEventReceipt {
  readonly type: 'created' | 'started' | 'stopped' | 'deleted' | 'unknown';
  /** Id of a container or of a sandbox. */
  readonly containerId: string;
  /** From when it was made, by the runtime's clock, until it came: below 0 when the clocks differ. */
  readonly delayMs: number;
}

/** An event of the runtime came. */
export const runtimeEventReceived = definePublishingChannel<RuntimeEventReceipt>(
  'podloop:pleg:runtime-event:received',
);
