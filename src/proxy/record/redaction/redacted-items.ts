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

/** Roughly what an item takes beside its bytes. */
const ITEM_BYTES = 500;

/**
 * What was redacted before: most lists are the same as a second ago, and of a thousand containers in another one a few
 * are other ones.
 */
export class RedactedItems {
  readonly #maxBytes: number;
  readonly #items = new Map<string, RedactedItem>();
  #bytes = 0;

  /** The newest item is there however large it is. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What the items take in memory, nearly. */
  get bytes(): number {
    return this.#bytes;
  }

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
    const stored = { ...item, bytes: item.bytes === undefined ? undefined : withoutRest(item.bytes) };
    this.#items.set(key, stored);
    this.#bytes += sizeOf(stored);
    while (this.#bytes > this.#maxBytes && this.#items.size > 1) {
      const [oldest, forgotten] = this.#items.entries().next().value!;
      this.#items.delete(oldest);
      this.#bytes -= sizeOf(forgotten);
    }
  }
}

/** A part of a larger buffer holds all of that. */
function withoutRest(bytes: Buffer): Buffer {
  if (bytes.length === bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

function sizeOf({ bytes, secrets }: RedactedItem): number {
  let size = ITEM_BYTES + (bytes?.length ?? 0);
  for (const { texts } of secrets) for (const { length } of texts) size += length;
  return size;
}
