import { setTimeout as sleep } from 'node:timers/promises';
import { isAnswer, type KubeClient } from '../../../src/cluster/client/kube-client.js';
import { type SeededRandom } from '../../containerd/churn/random.js';
import { podTemplate } from './workloads.js';

/** What a {@link PodLoad} needs. */
export interface PodLoadOptions {
  readonly client: KubeClient;
  readonly random: SeededRandom;
  /** What the names of its pods begin with. */
  readonly name: string;
  /** How many pods there are to be at most. */
  readonly most: number;
}

const PODS = '/api/v1/namespaces/default/pods';
const RETRY_MS = 200;

/**
 * Makes pods, changes their labels and deletes them, one after another and by chance, whether the API server is there or
 * not: what it did not answer is asked for again until it has.
 */
export class PodLoad {
  readonly #options: PodLoadOptions;
  readonly #wanted = new Map<string, { runsOn: boolean; mark: string }>();
  #made = 0;
  #changes = 0;
  #unanswered = 0;

  constructor(options: PodLoadOptions) {
    this.#options = options;
  }

  /** Pods that were made and not deleted, with whether they run on, and the label that they were given last. */
  get wanted(): ReadonlyMap<string, { readonly runsOn: boolean; readonly mark: string }> {
    return this.#wanted;
  }

  /** Changes that the API server took, and tries that it did not answer. */
  get counts(): { readonly changes: number; readonly unanswered: number } {
    return { changes: this.#changes, unanswered: this.#unanswered };
  }

  /** Changes pods until the signal aborts; resolves then, with the last change done. */
  async run(signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    while (!signal.aborted) {
      await this.#change();
      this.#changes++;
      await sleep(random.between(20, 400), undefined, { signal }).catch(() => undefined);
    }
  }

  async #change(): Promise<void> {
    const { random, most } = this.#options;
    const names = [...this.#wanted.keys()];
    const [first, ...others] = names;
    const share = names.length / most;
    if (first === undefined || (share < 1 && random.chance(0.8 - share / 2))) return this.#make();
    const name = random.pick([first, ...others]);
    return random.chance(0.4) ? this.#label(name) : this.#delete(name);
  }

  async #make(): Promise<void> {
    const { random, client, name: prefix } = this.#options;
    const name = `${prefix}-${++this.#made}`;
    const runsOn = random.chance(0.75);
    const seconds = random.between(0, 3).toFixed(1);
    const shape = runsOn
      ? { graceSeconds: random.integer(1, 4) }
      : { command: ['sh', '-c', `sleep ${seconds}`], more: { restartPolicy: 'Never' } };
    const { metadata, spec } = podTemplate('load', shape) as { metadata: object; spec: object };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name }, spec };
    // There already: the answer to an earlier try was lost.
    await this.#insist(async () => client.request({ method: 'POST', path: PODS, body }), 409);
    this.#wanted.set(name, { runsOn, mark: '' });
  }

  async #label(name: string): Promise<void> {
    const mark = String(this.#changes);
    const body = { metadata: { labels: { mark } } };
    const { client } = this.#options;
    await this.#insist(async () => client.request({ method: 'PATCH', path: `${PODS}/${name}`, body }));
    const { runsOn } = this.#wanted.get(name)!;
    this.#wanted.set(name, { runsOn, mark });
  }

  async #delete(name: string): Promise<void> {
    const { client } = this.#options;
    await this.#insist(async () => client.request({ method: 'DELETE', path: `${PODS}/${name}` }), 404);
    this.#wanted.delete(name);
  }

  async #insist(ask: () => Promise<unknown>, ...alsoDone: readonly number[]): Promise<void> {
    for (;;) {
      try {
        await ask();
        return;
      } catch (error) {
        if (isAnswer(error, ...alsoDone)) return;
        if (isAnswer(error, 400, 404, 422)) throw error;
        this.#unanswered++;
        await sleep(RETRY_MS);
      }
    }
  }
}
