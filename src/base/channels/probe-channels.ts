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

/** A probe that could not be run, as often in a row as it may fail. */
export interface ProbeNotRun extends Pick<
  ProbeEnd,
  'podUid' | 'namespace' | 'podName' | 'containerName' | 'containerId' | 'type' | 'message'
> {
  /** Its failureThreshold. */
  readonly times: number;
}

/** Published once for each row of errors: what could not be run counts neither way, so that nothing else shows it. */
export const probeNotRun = definePublishingChannel<ProbeNotRun>('podloop:probes:probe:not-run');

/** A probe was run once. */
export const probeEnded = definePublishingChannel<ProbeEnd>('podloop:probes:probe:ended');
