/**
 * When each pod came to this node: the same over restarts of the agent, as long as its source wants it.
 *
 * In: uids as they come and go. Out: a time for each. All of them are in one file, written as a whole a
 * moment after the first change. It assumes that if an agent is killed in that moment, no client remembers
 * the time of a new pod.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** What {@link CreationTimes} needs. */
export interface CreationTimesOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** Version of the file format. */
const VERSION = 1;
/** Pods often come together. */
const WRITE_AFTER_MS = 100;

/** See the module. */
export class CreationTimes {
  readonly #options: CreationTimesOptions;
  readonly #logger: Logger;
  readonly #byUid: Map<string, number>;
  readonly #isFirst: boolean;
  #isScheduled = false;
  #writing: Promise<void> = Promise.resolve();

  /** `isFirst`: pods may have come before their times were recorded. */
  private constructor(options: CreationTimesOptions, byUid: Map<string, number>, isFirst: boolean) {
    this.#isFirst = isFirst;
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = byUid;
  }

  /** Reads the previous agent's file. Never rejects: without a readable file, all pods have just come. */
  static async open(options: CreationTimesOptions): Promise<CreationTimes> {
    const { file, logger = SILENT_LOGGER } = options;
    try {
      const text = await readIfThere(file);
      const byUid = text === undefined ? new Map<string, number>() : parse(text);
      return new CreationTimes(options, byUid, text === undefined);
    } catch (error) {
      logger.error('Creation times of pods cannot be read', error, { path: file });
      return new CreationTimes(options, new Map<string, number>(), true);
    }
  }

  /**
   * Milliseconds since the epoch: now for a new uid, or without an earlier record, when it was seen running.
   */
  getMs(uid: string, seenRunningMs = Infinity): number {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const nowMs = this.#options.clock.now();
    const createdAtMs = this.#isFirst ? Math.min(nowMs, seenRunningMs) : nowMs;
    this.#byUid.set(uid, createdAtMs);
    this.#writeSoon();
    return createdAtMs;
  }

  /** The pod is gone: if it comes again, it is another one. */
  forget(uid: string): void {
    if (this.#byUid.delete(uid)) this.#writeSoon();
  }

  /** Forgets all but these. */
  keepOnly(isThere: (uid: string) => boolean): void {
    for (const uid of this.#byUid.keys()) if (!isThere(uid)) this.forget(uid);
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    if (this.#isScheduled) this.#write();
    await this.#writing;
  }

  #writeSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.clock.setTimer(WRITE_AFTER_MS, () => this.#isScheduled && this.#write(), { unref: true });
  }

  #write(): void {
    this.#isScheduled = false;
    const { file } = this.#options;
    this.#writing = this.#writing
      .then(async () => writeWhole(file, `${JSON.stringify({ version: VERSION, pods: [...this.#byUid] })}\n`))
      .catch((error: unknown) =>
        this.#logger.error('Creation times of pods cannot be kept', error, { path: file }),
      );
  }
}

function parse(text: string): Map<string, number> {
  const { version, pods } = JSON.parse(text) as { readonly version?: unknown; readonly pods?: unknown };
  if (version !== VERSION || !Array.isArray(pods)) throw new Error('it is of another form');
  return new Map(
    (pods as unknown[]).filter(
      (entry): entry is [string, number] =>
        Array.isArray(entry) && typeof entry[0] === 'string' && Number.isSafeInteger(entry[1]),
    ),
  );
}
