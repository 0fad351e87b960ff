import { type PlegHealth } from '#watch';

/** One change of the health of a runtime, or of a pod in it. */
export type HealthChange =
  | { readonly type: 'listHangs'; readonly forMs: number }
  | { readonly type: 'listAnswered' }
  | { readonly type: 'unhealthy'; readonly message: string; readonly reason: PlegHealth['reason'] }
  | { readonly type: 'healthy' }
  | ({ readonly type: 'podStuck' } & StuckPod)
  | { readonly type: 'podFree'; readonly pod: StuckPod['pod'] };

type StuckPod = PlegHealth['stuckPods'][number];

/** Younger problems are not reported: most are over before anybody has read about them. */
const TOLD_AFTER_MS = 3_000;

/** Finds changes of health between repeated readings. */
export class HealthChanges {
  /** Pods that were reported as stuck, by uid. */
  readonly #stuck = new Map<string, StuckPod['pod']>();
  #isUnhealthy = false;
  #listHangs = false;

  /** The changes since the last call. Skips pods while the runtime is away, as all of them fail then. */
  update(health: PlegHealth, runtimeIsThere: boolean): HealthChange[] {
    const pods = runtimeIsThere ? this.#ofPods(health) : [];
    return [...this.#ofList(health), ...this.#ofHealth(health), ...pods];
  }

  #ofList({ listInFlightMs: forMs = 0 }: PlegHealth): HealthChange[] {
    const hangs = forMs >= TOLD_AFTER_MS;
    if (hangs === this.#listHangs) return [];
    this.#listHangs = hangs;
    return [hangs ? { type: 'listHangs', forMs } : { type: 'listAnswered' }];
  }

  #ofHealth({ healthy, message = '', reason, lastSeenAtMs }: PlegHealth): HealthChange[] {
    // Before the first success, nothing can have changed.
    const isUnhealthy = !healthy && lastSeenAtMs !== undefined;
    if (isUnhealthy === this.#isUnhealthy) return [];
    this.#isUnhealthy = isUnhealthy;
    return [isUnhealthy ? { type: 'unhealthy', message, reason } : { type: 'healthy' }];
  }

  #ofPods({ stuckPods }: PlegHealth): HealthChange[] {
    const present = new Set(stuckPods.map(({ pod }) => pod.uid));
    const news = stuckPods.filter(({ pod, forMs }) => forMs >= TOLD_AFTER_MS && !this.#stuck.has(pod.uid));
    const free = [...this.#stuck.values()].filter(({ uid }) => !present.has(uid));
    for (const { pod } of news) this.#stuck.set(pod.uid, pod);
    for (const { uid } of free) this.#stuck.delete(uid);
    return [
      ...news.map((stuck) => ({ type: 'podStuck', ...stuck }) as const),
      ...free.map((pod) => ({ type: 'podFree', pod }) as const),
    ];
  }
}
