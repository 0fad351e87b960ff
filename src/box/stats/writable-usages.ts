import { SingleFlight } from '#base/async/single-flight.js';
import { messageOf } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { defer } from '../deferred.js';
import { type WritableUsage } from './stats-messages.js';

/** What {@link WritableUsages} needs. */
export interface WritableUsagesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Measures what a container has written; may take long. */
  readonly measureWritable: (containerId: string) => Promise<WritableUsage>;
}

/** How long a question about statistics waits for the disk, in all. */
const PATIENCE_MS = 100;
/** An older answer is none; so what belonged to containers that are gone does not stay. */
const FORGET_AFTER_MS = 60 * 60_000;

/**
 * What containers have written, without waiting for who has written much: the answer of an earlier question then
 * stands in, as long as the new one is being found out in the background.
 */
export class WritableUsages {
  readonly #options: WritableUsagesOptions;
  readonly #known = new Map<string, WritableUsage>();
  readonly #measurements = new SingleFlight<void>();

  constructor(options: WritableUsagesOptions) {
    this.#options = options;
  }

  /** The newest that is known of each; nothing of one that was never measured to the end. */
  async find(containerIds: readonly string[]): Promise<ReadonlyMap<string, WritableUsage>> {
    const asked = new Set(containerIds);
    const tooOld = this.#options.clock.now() - FORGET_AFTER_MS;
    for (const [id, { measuredAtMs }] of this.#known) if (measuredAtMs < tooOld) this.#known.delete(id);
    await this.#wait([...asked].map((id) => this.#measurements.run(id, async () => this.#measure(id))));
    const found = new Map<string, WritableUsage>();
    for (const id of asked) {
      const usage = this.#known.get(id);
      if (usage !== undefined) found.set(id, usage);
    }
    return found;
  }

  /** Never rejects. */
  async #measure(id: string): Promise<void> {
    try {
      this.#known.set(id, await this.#options.measureWritable(id));
    } catch (error) {
      this.#options.logger.info('Writable layer not measured', { containerId: id, err: messageOf(error) }, 2);
    }
  }

  async #wait(measurements: readonly Promise<void>[]): Promise<void> {
    const patience = defer<undefined>();
    const timer = this.#options.clock.setTimer(PATIENCE_MS, () => patience.resolve(undefined));
    await Promise.race([Promise.all(measurements), patience.promise]);
    timer.cancel();
  }
}
