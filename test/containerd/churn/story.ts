/**
 * What really happened in a churn test, written down by those who did it: the driver (what it asked of the
 * runtime, when, and what the runtime answered), and every container itself (its start and its end, in files on
 * the host). Nothing in here comes from podloop.
 *
 * All times are wall-clock milliseconds with fractions, by one clock: see {@link wallMs}.
 *
 * @module
 */

/** Now. Does not jump while the test runs. */
export function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

/** How a container is made to end. */
export type Ending =
  /** By itself, after a while. */
  | { readonly by: 'exit'; readonly afterMs: number; readonly code: number }
  /** It handles TERM and exits with `code` when StopContainer sends it. */
  | { readonly by: 'term'; readonly afterMs: number; readonly code: number }
  /** StopContainer without a grace period. */
  | { readonly by: 'stop'; readonly afterMs: number }
  /** KILL from the host to its first process, behind the runtime's back. */
  | { readonly by: 'kill'; readonly afterMs: number };

/** When a dead container is removed: once the runtime has shown it dead for three seconds, or (counted apart) sooner. */
export type RemovalClass = 'settled' | 'early';

/** What the runtime itself said of a dead container before the driver removed it. */
export interface RuntimeVerdict {
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly exitCode: number;
  readonly reason: string;
  readonly finishedAtMs: number;
}

/** The life of one container. Absent fields have not happened. */
export interface ContainerStory {
  /** Names the container's files and stands in its label. */
  readonly key: string;
  readonly podName: string;
  readonly podUid: string;
  readonly ending: Ending;
  readonly removalClass: RemovalClass;
  /** Absent when the runtime never said that it made one. */
  id?: string;
  createCalledMs?: number;
  createdMs?: number;
  startCalledMs?: number;
  /** When StartContainer was answered. */
  startedMs?: number;
  /** The first kill of any kind that the driver sent, the end of its pod included. */
  killedMs?: number;
  /** When the driver first saw it dead. */
  seenDeadMs?: number;
  verdict?: RuntimeVerdict;
  /** When the first call that could remove it was sent: RemoveContainer, or RemovePodSandbox of its pod. */
  removalCalledMs?: number;
  /** When it was gone for certain. */
  removedMs?: number;
  /** Everything else worth telling, with its time. */
  readonly notes: string[];
}

/** The life of one sandbox. */
export interface SandboxStory {
  readonly podName: string;
  readonly podUid: string;
  readonly removalClass: RemovalClass;
  id?: string;
  runCalledMs?: number;
  /** When RunPodSandbox was answered. Absent when the answer was lost. */
  runningMs?: number;
  stopCalledMs?: number;
  removalCalledMs?: number;
  removedMs?: number;
  readonly notes: string[];
}

/** What a container wrote down itself. */
export interface OwnWords {
  /** When it wrote that it had started; undefined when it did not get that far. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  /** The exit code that it announced. */
  readonly exitCode: number | undefined;
}

/** A time during which containerd did not answer. */
export interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Everything the driver wrote down. */
export interface ChurnLog {
  readonly containers: ContainerStory[];
  readonly sandboxes: SandboxStory[];
  readonly outages: Outage[];
}

/** `+12.345 s` after the start of the run. */
export function formatMs(timeMs: number | undefined, originMs: number): string {
  return timeMs === undefined ? '-' : `+${((timeMs - originMs) / 1000).toFixed(3)}s`;
}
