import { type PodViews, type ServedPod } from '#node/api';
import { type ObservedPod, type Pleg, type PodStatus } from '#watch';
import { type PodPlace, toServedPod } from './to-served-pod.js';

/** What {@link SeenPods} reads. */
export interface SeenPodsOptions {
  readonly pleg: Pick<Pleg, 'findObserved' | 'cache'>;
  readonly place: PodPlace;
}

interface View {
  readonly status: PodStatus;
  readonly observed: ObservedPod;
  readonly served: ServedPod;
}

/** The pods of a runtime as the API shows them. A view stays the same object while nothing in its pod changes. */
export class SeenPods implements PodViews {
  readonly #options: SeenPodsOptions;
  readonly #views = new Map<string, View>();

  constructor(options: SeenPodsOptions) {
    this.#options = options;
  }

  uids(): Iterable<string> {
    return this.#options.pleg.cache.uids();
  }

  find(uid: string): ServedPod | undefined {
    const { pleg, place } = this.#options;
    const observed = pleg.findObserved(uid);
    if (observed === undefined) {
      this.#views.delete(uid);
      return undefined;
    }
    const status = pleg.cache.getLastKnown(uid);
    const known = this.#views.get(uid);
    if (known?.status === status && known.observed === observed) return known.served;
    const served = toServedPod(status, observed, place);
    this.#views.set(uid, { status, observed, served });
    return served;
  }
}
