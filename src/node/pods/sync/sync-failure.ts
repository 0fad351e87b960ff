import { PodloopError } from '#base/errors/errors.js';

/** A failed step of a sync, in the kubelet's words. */
export interface SyncFailure {
  readonly action:
    | 'StartContainer'
    | 'InitContainer'
    | 'KillContainer'
    | 'RemoveContainer'
    | 'ResizePodInPlace'
    | 'CreatePodSandbox'
    | 'ConfigPodSandbox'
    | 'KillPodSandbox'
    | 'KillPod';
  /** A container's name, or the pod. */
  readonly subject: string;
  /** CamelCase: CrashLoopBackOff, ErrImagePull, RunContainerError … */
  readonly reason: string;
  readonly message: string;
  /** A retry before that is pointless. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** `failed to "StartContainer" for "a" with CrashLoopBackOff: "back-off 10s …"`; several in brackets. */
export function formatFailures(failures: readonly SyncFailure[]): string {
  const texts = failures.map(
    ({ action, subject, reason, message }) =>
      `failed to "${action}" for "${subject}" with ${reason}: ${JSON.stringify(message)}`,
  );
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
}

/** All failures as one POD_SYNC_FAILED; its cause is the first that there is. */
export function toSyncError(failures: readonly SyncFailure[]): PodloopError {
  const cause = failures.find((failure) => failure.cause !== undefined)?.cause;
  return new PodloopError('POD_SYNC_FAILED', formatFailures(failures), cause === undefined ? {} : { cause });
}
