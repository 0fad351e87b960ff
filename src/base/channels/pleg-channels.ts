import { type CriCallPod } from './channels.js';
import { definePublishingChannel } from './publishing-channel.js';

/** A finished relist: of all pods, or of one. */
export interface RelistEnd {
  readonly scope: 'all' | 'pod';
  /** The trigger: initial, relist, event or request. */
  readonly trigger: string;
  /** Wall-clock milliseconds at which it began. */
  readonly startedAtMs: number;
  /** From its start until nobody need wait for it any longer. */
  readonly durationMs: number;
  /**
   * From the start of the last successful relist of all pods to the start of this one; undefined if there was
   * none.
   */
  readonly sinceLastMs: number | undefined;
  /** The duration of the list calls. */
  readonly listMs: number;
  /** The duration of the comparison with the records. */
  readonly diffMs: number;
  /** Pods in the answer. */
  readonly pods: number;
  /** Pods found due for inspection. */
  readonly due: number;
  /** The error message; undefined if it succeeded. */
  readonly error: string | undefined;
}

/** A relist ended, successfully or not. */
export const relistEnded = definePublishingChannel<RelistEnd>('podloop:pleg:relist:ended');

/** An inspection of a pod that ended by itself: answered, failed, or timed out. */
export interface InspectionEnd {
  readonly pod: CriCallPod;
  readonly durationMs: number;
  /** Whether it had left the budget, so that nobody waited for it any longer. */
  readonly wasSlow: boolean;
  /** The error message; undefined if it succeeded. */
  readonly error: string | undefined;
}

/** The inspection of a pod ended, successfully or not. */
export const inspectionEnded = definePublishingChannel<InspectionEnd>('podloop:pleg:inspection:ended');

/** An event from the runtime. */
export interface RuntimeEventReceipt {
  readonly type: 'created' | 'started' | 'stopped' | 'deleted' | 'unknown';
  /** Id of a container or of a sandbox. */
  readonly containerId: string;
  /** From its creation, by the runtime's clock, to its arrival: negative if the clocks differ. */
  readonly delayMs: number;
}

/** An event from the runtime has arrived. */
export const runtimeEventReceived = definePublishingChannel<RuntimeEventReceipt>(
  'podloop:pleg:runtime-event:received',
);
