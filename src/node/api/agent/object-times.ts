import { type SourceConfigObject } from '../../desired/config-objects.js';
import { CreationTimes, type CreationTimesOptions } from './creation-times.js';

/**
 * When each ConfigMap and Secret came to this node: the same over restarts of the agent, as long as its
 * source has it.
 */
export class ObjectTimes {
  readonly #times: CreationTimes;
  /**
   * The sources that have delivered any since this agent started: the objects of others are still unknown.
   */
  readonly #sources = new Set<string>();
  #isSettled = false;

  private constructor(times: CreationTimes) {
    this.#times = times;
  }

  /** Reads the previous agent's file. Never rejects. */
  static async open(options: CreationTimesOptions): Promise<ObjectTimes> {
    return new ObjectTimes(await CreationTimes.open(options));
  }

  /** Milliseconds since the epoch. */
  getMs(object: SourceConfigObject): number {
    return this.#times.getMs(keyOf(object));
  }

  /** Records new ones, and forgets those that are gone. */
  update(all: readonly SourceConfigObject[]): void {
    const keys = new Set(all.map(keyOf));
    for (const key of keys) this.#times.getMs(key);
    for (const { source } of all) this.#sources.add(source);
    const isGone = (key: string): boolean =>
      !keys.has(key) && (this.#isSettled || this.#sources.has(key.slice(0, key.indexOf('/'))));
    this.#times.keepOnly((key) => !isGone(key));
  }

  /**
   * Forgets objects that disappeared while no agent ran, once every source has delivered. Does nothing after
   * the first time.
   */
  settle(readAll: () => readonly SourceConfigObject[]): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.update(readAll());
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    await this.#times.flush();
  }
}

function keyOf({ source, object: { kind, metadata } }: SourceConfigObject): string {
  return `${source}/${kind}/${metadata.namespace}/${metadata.name}`;
}
