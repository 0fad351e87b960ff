import { ANNOTATIONS, type ContainerStatus } from '#watch';
import { formatGoDuration } from '#base/time/go-duration.js';

/** How long a container that keeps ending waits before it is started again. */
export interface RestartBackoffOptions {
  /** The first delay that is not zero, milliseconds. */
  readonly initialMs: number;
  /** No delay is longer, milliseconds. */
  readonly maxMs: number;
  /** Who ran for so long ran well: the next start is at once again, milliseconds. */
  readonly resetAfterMs: number;
}

/** The kubelet's: at once, then 10 s doubling to 5 min, forgotten after 10 min of running. */
export const DEFAULT_RESTART_BACKOFF: RestartBackoffOptions = {
  initialMs: 10_000,
  maxMs: 300_000,
  resetAfterMs: 600_000,
};

/** A container that ended, or is about to. */
export interface EndedRun {
  /** What its creator wrote on it; see {@link readRestartDelayMs}. */
  readonly restartDelayMs: number;
  readonly ranForMs: number;
  /** 0 for one that is about to be stopped. */
  readonly endedForMs: number;
}

/** When the next container may start, and what to write on it. */
export interface RestartStep {
  /** The whole delay, milliseconds. */
  readonly delayMs: number;
  /** What is left of it; 0 when it may start. */
  readonly remainingMs: number;
  /** To be written on the next one: what is to be waited after its end. */
  readonly nextDelayMs: number;
}

/** The step after a container of the same name and definition; without one, the first start. Pure. */
export function computeRestartStep(
  ended: EndedRun | undefined,
  options: RestartBackoffOptions = DEFAULT_RESTART_BACKOFF,
): RestartStep {
  const { initialMs, maxMs, resetAfterMs } = options;
  if (ended === undefined) return { delayMs: 0, remainingMs: 0, nextDelayMs: 0 };
  const ranWell = ended.ranForMs >= resetAfterMs;
  const delayMs = ranWell ? 0 : Math.min(ended.restartDelayMs, maxMs);
  const nextDelayMs = Math.min(delayMs === 0 ? initialMs : 2 * delayMs, maxMs);
  return { delayMs, remainingMs: Math.max(0, delayMs - Math.max(0, ended.endedForMs)), nextDelayMs };
}

/**
 * What is to be waited after the end of a container, milliseconds: from its annotation podloop.dev/restart-delay-ms.
 *
 * Where that is missing or makes no sense (another agent made it), from its restart count, as if it had never run well.
 */
export function readRestartDelayMs(
  { annotations, restartCount }: Pick<ContainerStatus, 'annotations' | 'restartCount'>,
  { initialMs, maxMs }: RestartBackoffOptions = DEFAULT_RESTART_BACKOFF,
): number {
  const written = annotations[ANNOTATIONS.restartDelayMs];
  if (written !== undefined && /^\d{1,9}$/.test(written)) return Math.min(Number(written), maxMs);
  return restartCount === 0 ? 0 : Math.min(initialMs * 2 ** Math.min(restartCount - 1, 30), maxMs);
}

/** `back-off 10s restarting failed container=a pod=web_default(UID)`, as the kubelet words it. */
export function formatBackoffMessage(
  delayMs: number,
  containerName: string,
  pod: { readonly name: string; readonly namespace: string; readonly uid: string },
): string {
  const delay = formatGoDuration(delayMs);
  return `back-off ${delay} restarting failed container=${containerName} pod=${pod.name}_${pod.namespace}(${pod.uid})`;
}
