/**
 * Messages in little memory: what several of them have in common is stored once.
 *
 * In: bytes of protobuf messages. Out: the same bytes, whenever they are wanted. A runtime lists its items in any order, and from one
 * list to the next few of them change. So a message is cut between its fields, which are the items of a list. Pieces are strings
 * of one byte a character: unlike buffers they lie in V8's own heap, which it compacts, and leave no holes in that of malloc.
 *
 * Messages are stored while others wait, so the work for each is bounded. V8 hashes every byte of a text that is looked up: a
 * piece is compared first with the newest one that begins like it, as an item that has not changed does wherever it stands. Behind
 * the first thousands of pieces of a message the others are long.
 *
 * @module
 */

interface Piece {
  readonly id: number;
  readonly text: string;
  readonly head: number;
  /** How often messages have it. */
  uses: number;
}

/** Shorter fields are stored together, as each piece takes {@link PIECE_BYTES} besides. */
const MIN_PIECE_BYTES = 128;
/** So many pieces of a message may be as short; even very large nodes have fewer containers. */
const SHORT_PIECES = 4_000;
/** Each one behind them has at least as much. */
const LONG_PIECE_BYTES = 32 << 10;
/** An item begins with its id, so that so many bytes differ from item to item. */
const HEAD_BYTES = 80;
/** Roughly what a piece takes beside its text. */
const PIECE_BYTES = 160;
/** What each use of a piece in a message takes. */
const USE_BYTES = 8;
/** Roughly what a message takes beside its pieces. */
const MESSAGE_BYTES = 150;
const LENGTH_DELIMITED = 2;

/** A message that a {@link SharedBytes} stores. */
export class SharedMessage {
  readonly length: number;
  readonly hash: number;
  readonly pieces: readonly Piece[];
  /** How often it was stored and not released. */
  uses = 0;
  #bytes: WeakRef<Buffer> | undefined;

  constructor(pieces: readonly Piece[], hash: number, length: number) {
    this.pieces = pieces;
    this.hash = hash;
    this.length = length;
  }

  /** The message as it was: the same buffer again for as long as somebody holds it. */
  get bytes(): Buffer {
    const known = this.#bytes?.deref();
    if (known !== undefined) return known;
    const bytes = Buffer.allocUnsafeSlow(this.length);
    let at = 0;
    for (const { text } of this.pieces) at += bytes.write(text, at, 'latin1');
    this.#bytes = new WeakRef(bytes);
    return bytes;
  }
}

/** See the module. */
export class SharedBytes {
  readonly #pieces = new Map<string, Piece>();
  /** Of the pieces that begin alike, the one that was used last. */
  readonly #newest = new Map<number, Piece>();
  /** By hash; of two with the same hash the first alone is shared. */
  readonly #messages = new Map<number, SharedMessage>();
  #lastId = 0;
  #memoryBytes = 0;

  /** What all messages take, nearly. */
  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Stores a message, or finds it among those that are stored; `uses` says which. */
  store(message: Uint8Array): SharedMessage {
    const { pieces, hash } = this.#cut(message);
    const known = this.#messages.get(hash);
    if (known !== undefined && areSame(known.pieces, pieces)) {
      known.uses++;
      return known;
    }
    for (const piece of pieces) this.#use(piece);
    const stored = new SharedMessage(pieces, hash, message.length);
    stored.uses = 1;
    this.#memoryBytes += MESSAGE_BYTES;
    if (known === undefined) this.#messages.set(hash, stored);
    return stored;
  }

  /** Gives back what {@link store} returned. */
  release(message: SharedMessage): void {
    if (--message.uses > 0) return;
    this.#memoryBytes -= MESSAGE_BYTES;
    if (this.#messages.get(message.hash) === message) this.#messages.delete(message.hash);
    for (const piece of message.pieces) {
      this.#memoryBytes -= USE_BYTES;
      if (--piece.uses > 0) continue;
      this.#pieces.delete(piece.text);
      if (this.#newest.get(piece.head) === piece) this.#newest.delete(piece.head);
      this.#memoryBytes -= PIECE_BYTES + piece.text.length;
    }
  }

  #use(piece: Piece): void {
    this.#memoryBytes += USE_BYTES;
    this.#newest.set(piece.head, piece);
    if (piece.uses++ > 0) return;
    this.#pieces.set(piece.text, piece);
    this.#memoryBytes += PIECE_BYTES + piece.text.length;
  }

  #cut(message: Uint8Array): { readonly pieces: readonly Piece[]; readonly hash: number } {
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
    const pieces: Piece[] = [];
    /** Of those that are not stored yet: a message may have a new one twice. */
    let fresh: Map<string, Piece> | undefined;
    let hash = 0;
    for (let start = 0; start < bytes.length;) {
      const end = endOfPiece(bytes, start, pieces.length < SHORT_PIECES ? MIN_PIECE_BYTES : LONG_PIECE_BYTES);
      const text = bytes.toString('latin1', start, end);
      const head = headOf(bytes, start, end);
      let piece = this.#newest.get(head);
      if (piece?.text !== text) piece = this.#pieces.get(text) ?? fresh?.get(text);
      if (piece === undefined) {
        piece = { id: ++this.#lastId, text, head, uses: 0 };
        (fresh ??= new Map()).set(text, piece);
      }
      pieces.push(piece);
      hash = (Math.imul(hash, 31) + piece.id) | 0;
      start = end;
    }
    return { pieces, hash };
  }
}

function areSame(one: readonly Piece[], other: readonly Piece[]): boolean {
  return one.length === other.length && one.every((piece, at) => piece === other[at]);
}

/** A number that is the same for pieces that begin alike. */
function headOf(bytes: Buffer, start: number, end: number): number {
  let head = end - start;
  for (let at = start; at < Math.min(end, start + HEAD_BYTES); at++)
    head = (Math.imul(head, 31) + bytes[at]!) | 0;
  return head;
}

/** After as many whole fields as a piece of `minBytes` needs; what is no protobuf, or no list, is one piece to its end. */
function endOfPiece(bytes: Buffer, start: number, minBytes: number): number {
  for (let at = start; at < bytes.length;) {
    if ((bytes[at]! & 7) !== LENGTH_DELIMITED) return bytes.length;
    while ((bytes[at++] ?? 0) >= 0x80);
    let length = 0;
    for (let scale = 1, more = true; more; scale *= 0x80) {
      const byte = bytes[at++] ?? 0;
      length += (byte & 0x7f) * scale;
      more = byte >= 0x80;
    }
    at += length;
    if (at - start >= minBytes) return Math.min(at, bytes.length);
  }
  return bytes.length;
}
