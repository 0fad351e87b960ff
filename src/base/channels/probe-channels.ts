import { definePublishingChannel } from './publishing-channel.js';

/** One finished run of a probe. */
export interface ProbeEnd {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly containerId: string;
  readonly type: 'liveness' | 'readiness' | 'startup';
  /**
   * The result. `error`: the probe could not be run; `void`: our own event loop was blocked meanwhile, and
   * the probe is repeated.
   *
   * Neither of these two counts as success or failure.
   */
  readonly outcome: 'success' | 'warning' | 'failure' | 'error' | 'void';
  readonly durationMs: number;
  /** How long our event loop was blocked meanwhile. */
  readonly stalledMs: number;
  /** In the kubelet's words; empty if there is nothing to report. */
  readonly message: string;
}

/** A probe that could not be run as many times in a row as it may fail. */
export interface ProbeNotRun extends Pick<
  ProbeEnd,
  'podUid' | 'namespace' | 'podName' | 'containerName' | 'containerId' | 'type' | 'message'
> {
  /** The probe's failureThreshold. */
  readonly times: number;
}

/**
 * Published once for each series of errors, as they count neither as success nor as failure and would stay
 * unnoticed.
 */
export const probeNotRun = definePublishingChannel<ProbeNotRun>('podloop:probes:probe:not-run');

/** A probe was run once. */
export const probeEnded = definePublishingChannel<ProbeEnd>('podloop:probes:probe:ended');
