/**
 * When each pod came to this node: the same over restarts of the agent, for as long as its source wants it.
 *
 * In: uids as they come and go. Out: a time for each. All of them lie in one file, written whole a moment after the first
 * change; it assumes that an agent that is killed in that moment has told of a new pod to nobody who would remember.
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

/** Of the form of the file. */
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

  /** `isFirst`: pods may have come before anybody wrote down when. */
  private constructor(options: CreationTimesOptions, byUid: Map<string, number>, isFirst: boolean) {
    this.#isFirst = isFirst;
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = byUid;
  }

  /** Reads what the agent before has written. Never rejects: pods of a file that cannot be read have come just now. */
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

  /** Milliseconds since the epoch. A uid that is new has come now; where nothing was written down, when it was seen running. */
  getMs(uid: string, seenRunningMs = Infinity): number {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const nowMs = this.#options.clock.now();
    const createdAtMs = this.#isFirst ? Math.min(nowMs, seenRunningMs) : nowMs;
    this.#byUid.set(uid, createdAtMs);
    this.#writeSoon();
    return createdAtMs;
  }

  /** The pod is gone: when it comes again it is another one. */
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
