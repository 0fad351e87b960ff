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
import { RecordFile } from '#base/fs/record-file.js';

/** What {@link CreationTimes} needs. */
export interface CreationTimesOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** Pods often come together. */
const WRITE_AFTER_MS = 100;

/** See the module. */
export class CreationTimes {
  readonly #clock: Clock;
  readonly #file: RecordFile<ReadonlyMap<string, number>>;
  readonly #byUid: Map<string, number>;
  /** Pods may have come before their times were recorded. */
  readonly #isFirst: boolean;

  private constructor(
    clock: Clock,
    file: RecordFile<ReadonlyMap<string, number>>,
    known: ReadonlyMap<string, number> | undefined,
  ) {
    this.#clock = clock;
    this.#file = file;
    this.#isFirst = known === undefined;
    this.#byUid = new Map(known);
  }

  /** Reads the previous agent's file. Never rejects: without a readable file, all pods have just come. */
  static async open(options: CreationTimesOptions): Promise<CreationTimes> {
    const { file: path, clock, logger = SILENT_LOGGER } = options;
    const file = new RecordFile<ReadonlyMap<string, number>>({
      ...{ path, parse, format: (byUid) => ({ pods: [...byUid] }) },
      later: {
        delay: { clock, ms: WRITE_AFTER_MS },
        onError: (error) => logger.error('Creation times of pods cannot be recorded', error, { path }),
      },
    });
    try {
      return new CreationTimes(clock, file, await file.read());
    } catch (error) {
      logger.error('Creation times of pods cannot be read', error, { path });
      return new CreationTimes(clock, file, undefined);
    }
  }

  /**
   * Milliseconds since the epoch: now for a new uid, or without an earlier record, when it was seen running.
   */
  getMs(uid: string, seenRunningMs = Infinity): number {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    const nowMs = this.#clock.now();
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
    await this.#file.flush();
  }

  #writeSoon(): void {
    this.#file.writeSoon(() => this.#byUid);
  }
}

function parse({ pods }: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  if (!Array.isArray(pods)) throw new Error('it is not what was written');
  return new Map(
    (pods as unknown[]).filter(
      (entry): entry is [string, number] =>
        Array.isArray(entry) && typeof entry[0] === 'string' && Number.isSafeInteger(entry[1]),
    ),
  );
}
