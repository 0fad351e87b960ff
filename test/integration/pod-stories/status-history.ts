import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { podStatusChanged } from '../../../src/node/status/status-changes.js';

/** One status of a pod, as the agent made it; undefined when the pod was forgotten. */
export interface SeenStatus {
  /** Of the monotonic clock. */
  readonly atMs: number;
  readonly status: V1PodStatus | undefined;
}

/**
 * Every status of every pod that an agent of this process made since this was built, by the pod's name on the node.
 * None is missed, however short it lasts and however busy the machine is: they are taken down as they are made.
 */
export class StatusHistory implements Disposable {
  readonly #seen = new Map<string, SeenStatus[]>();
  readonly #waiting = new Set<() => void>();
  readonly #leave: () => void;

  constructor() {
    this.#leave = podStatusChanged.subscribe((change) => {
      if (change.type === 'resync') return;
      const isStatus = change.type === 'status';
      const { name } = isStatus ? change.record.pod : change.pod;
      const status = isStatus ? change.record.status : undefined;
      const seen = this.#seen.get(name) ?? [];
      this.#seen.set(name, seen);
      seen.push({ atMs: performance.now(), status });
      for (const wake of this.#waiting) wake();
      this.#waiting.clear();
    });
  }

  /** In order, up to now. */
  of(podName: string): readonly SeenStatus[] {
    return this.#seen.get(podName) ?? [];
  }

  /** Resolves when there is another status of any pod, or the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
