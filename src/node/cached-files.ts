import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';

/** The source of a {@link CachedFiles}. */
export interface ReadingSource<Value> {
  /** Its name in the log. */
  readonly what: string;
  /** The flag that names its files. */
  readonly flag: string;
  readonly logger: Logger;
  readonly read: () => Promise<string>;
  /** Throws for unusable text. */
  readonly parse: (text: string) => Value;
}

/**
 * The parsed contents of files that may change at any time.
 *
 * If they become unreadable or unusable, that is logged once, and the last good value stays.
 */
export class CachedFiles<Value> {
  readonly #source: ReadingSource<Value>;
  #text: string;
  #value: Value;
  #complaint: string | undefined;

  /** Rejects with the problem of the files. */
  static async open<Value>(source: ReadingSource<Value>): Promise<CachedFiles<Value>> {
    const text = await source.read();
    return new CachedFiles(source, text, source.parse(text));
  }

  private constructor(source: ReadingSource<Value>, text: string, value: Value) {
    this.#source = source;
    this.#text = text;
    this.#value = value;
  }

  /** The last good value. */
  get value(): Value {
    return this.#value;
  }

  /** Reads the files again if they have changed; returns whether the value has changed. Never rejects. */
  async refresh(): Promise<boolean> {
    const { what, flag, logger, read, parse } = this.#source;
    try {
      const text = await read();
      const isNew = text !== this.#text;
      if (isNew) [this.#value, this.#text] = [parse(text), text];
      this.#complaint = undefined;
      if (isNew) logger.info(`${what} read again`, { flag });
      return isNew;
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint !== this.#complaint) {
        logger.error(`${what} cannot be read again, what was read before holds`, error, { flag });
      }
      this.#complaint = complaint;
      return false;
    }
  }
}
