import { OLDEST_STAMP } from '#base/time/clock.js';
import { type ProbeResult } from '../../../src/node/probes/probe-result.js';
import { type PodLifecycleEvent } from '#watch';

/** What all events of a relist have. */
export const EVENT_OF_RELIST = { trigger: 'relist', stamp: OLDEST_STAMP, observedAtMs: 0 } as const;

interface EventFields {
  readonly name?: string;
  readonly containerId?: string;
  readonly kind?: 'container' | 'sandbox';
}

/** An event of a relist about a container, or the sandbox, of a pod. */
export function anEvent(
  type: 'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved',
  { name = 'web', containerId = `${name}-1`, kind = 'container' }: EventFields = {},
): PodLifecycleEvent {
  const pod = { uid: `uid-${name}`, namespace: 'default', name };
  const unknown = { exitCode: undefined, reason: undefined, occurredAtNs: undefined };
  return { ...EVENT_OF_RELIST, type, kind, pod, containerId, containerName: 'main', ...unknown };
}

/** A result of a probe of container c1. */
export function aResult(
  type: ProbeResult['type'],
  result: ProbeResult['result'],
  podUid = 'uid-web',
): ProbeResult {
  return { podUid, containerId: 'c1', containerName: 'main', type, result, message: '' };
}
