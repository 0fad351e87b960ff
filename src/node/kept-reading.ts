import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';

/** Where a {@link KeptReading} comes from. */
export interface ReadingSource<Value> {
  /** What it is, for the log. */
  readonly what: string;
  /** The flag that names its files. */
  readonly flag: string;
  readonly logger: Logger;
  readonly read: () => Promise<string>;
  /** Throws for what cannot be used. */
  readonly parse: (text: string) => Value;
}

/**
 * What stands in files that may change at any time: what cannot be read or used then is told once, and what was read
 * before holds.
 */
export class KeptReading<Value> {
  readonly #source: ReadingSource<Value>;
  #text: string;
  #value: Value;
  #complaint: string | undefined;

  /** Rejects with what is wrong with the files. */
  static async open<Value>(source: ReadingSource<Value>): Promise<KeptReading<Value>> {
    const text = await source.read();
    return new KeptReading(source, text, source.parse(text));
  }

  private constructor(source: ReadingSource<Value>, text: string, value: Value) {
    this.#source = source;
    this.#text = text;
    this.#value = value;
  }

  /** As it was last fit to be used. */
  get value(): Value {
    return this.#value;
  }

  /** Takes in what has changed; whether something has. Never rejects. */
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
