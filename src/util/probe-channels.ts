import { definePublishingChannel } from './publishing-channel.js';

/** One run of a probe that ended. */
export interface ProbeEnd {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly containerId: string;
  readonly type: 'liveness' | 'readiness' | 'startup';
  /**
   * `error`: it could not be run; `void`: our own event loop stood still meanwhile, and the probe is repeated. Both
   * count neither way.
   */
  readonly outcome: 'success' | 'warning' | 'failure' | 'error' | 'void';
  readonly durationMs: number;
  /** For how much of it our event loop stood still. */
  readonly stalledMs: number;
  /** As the kubelet words it; empty when there is nothing to say. */
  readonly message: string;
}

/** A probe was run once. */
export const probeEnded = definePublishingChannel<ProbeEnd>('podloop:probes:probe:ended');
