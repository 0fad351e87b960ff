import { hash } from 'node:crypto';
import { hashInSlices } from './hash-in-slices.js';
import { type Secret } from './secret-book.js';

/** A message, or a field of one, without secrets, and what that took. */
export interface RedactedItem {
  /** Undefined when it was left out. */
  readonly bytes: Buffer | undefined;
  readonly redacted: number;
  readonly unknownFields: number;
  /** What was taken out, to be remembered again when it comes again. */
  readonly secrets: readonly Secret[];
}

const MAX_BYTES = 32 * 2 ** 20;
const MAX_ITEMS = 50_000;

/**
 * What was redacted before: most lists are the same as a second ago, and of a thousand containers in another one a few
 * are other ones.
 */
export class RedactedItems {
  readonly #items = new Map<string, RedactedItem>();
  #bytes = 0;

  /** By what it is found again. */
  static keyOf(type: string, item: Buffer): string {
    return `${type} ${hash('sha256', item, 'base64')}`;
  }

  /** The same of a whole message, which may be large. */
  static async keyOfMessage(type: string, message: Buffer): Promise<string> {
    return `${type} ${await hashInSlices(message)}`;
  }

  find(key: string): RedactedItem | undefined {
    const known = this.#items.get(key);
    if (known === undefined) return undefined;
    // Last in the order, so that what is not seen any more is forgotten first.
    this.#items.delete(key);
    this.#items.set(key, known);
    return known;
  }

  add(key: string, item: RedactedItem): void {
    const replaced = this.#items.get(key);
    if (replaced !== undefined) this.#bytes -= sizeOf(replaced);
    this.#items.set(key, item);
    this.#bytes += sizeOf(item);
    while (this.#bytes > MAX_BYTES || this.#items.size > MAX_ITEMS) {
      const [oldest, forgotten] = this.#items.entries().next().value!;
      this.#items.delete(oldest);
      this.#bytes -= sizeOf(forgotten);
    }
  }
}

function sizeOf({ bytes, secrets }: RedactedItem): number {
  let size = bytes?.length ?? 0;
  for (const { texts } of secrets) for (const { length } of texts) size += length;
  return size;
}
