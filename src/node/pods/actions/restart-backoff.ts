import { ANNOTATIONS, type ContainerStatus } from '#watch';
import { formatGoDuration } from '#base/time/go-duration.js';

/** How long a container that keeps ending waits before its next start. */
export interface RestartBackoffOptions {
  /** The first delay that is not zero, in milliseconds. */
  readonly initialMs: number;
  /** The longest delay, in milliseconds. */
  readonly maxMs: number;
  /** A container that ran this long resets the back-off: its next start is immediate. In milliseconds. */
  readonly resetAfterMs: number;
}

/** The kubelet's defaults: immediately, then 10 s doubling to 5 min, reset after 10 min of running. */
export const DEFAULT_RESTART_BACKOFF: RestartBackoffOptions = {
  initialMs: 10_000,
  maxMs: 300_000,
  resetAfterMs: 600_000,
};

/** A container that ended, or is about to. */
export interface EndedRun {
  /** The delay in its creator's annotation; see {@link readRestartDelayMs}. */
  readonly restartDelayMs: number;
  readonly ranForMs: number;
  /** 0 for one that is about to be stopped. */
  readonly endedForMs: number;
}

/** When the next container may start, and the delay to write on it. */
export interface RestartStep {
  /** The whole delay, in milliseconds. */
  readonly delayMs: number;
  /** The remaining delay; 0 when it may start. */
  readonly remainingMs: number;
  /** The delay after the end of the next container, to be written on it. */
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

/** How long a container that has ended waits before its next start, in milliseconds. */
export function computeRemainingMs(
  ended: ContainerStatus,
  times: {
    ranForMs(container: ContainerStatus): number;
    endedForMs(container: ContainerStatus): number;
  },
  options?: RestartBackoffOptions,
): number {
  const restartDelayMs = readRestartDelayMs(ended, options);
  const run = { restartDelayMs, ranForMs: times.ranForMs(ended), endedForMs: times.endedForMs(ended) };
  return computeRestartStep(run, options).remainingMs;
}

/**
 * The delay after the end of a container, in milliseconds, from its annotation podloop.dev/restart-delay-ms.
 *
 * If that is missing or invalid (another agent created it), it follows from the restart count, as if no run
 * had reset it.
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
