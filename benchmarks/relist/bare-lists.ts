/**
 * The bare list calls that an idle relist is held against: both lists in flight together over the product's own
 * transport, and from each item the id and the state, read by hand. Less cannot be done by whoever polls.
 *
 * Written apart from the product's decoders on purpose; it shares no code with them.
 *
 * @module
 */

/** What is read of one item of a list answer. */
export interface BareItem {
  readonly id: string;
  readonly state: number;
}

/** Sends a call and gives the bytes of its answer. */
export type BareCall = (path: string, request: Uint8Array) => Promise<Buffer>;

const LIST_CONTAINERS = '/runtime.v1.RuntimeService/ListContainers';
const LIST_POD_SANDBOX = '/runtime.v1.RuntimeService/ListPodSandbox';
const NO_FILTER = new Uint8Array(0);

/** Field numbers of the state: Container.state and PodSandbox.state. The id is 1 in both. */
const CONTAINER_STATE = 6;
const SANDBOX_STATE = 3;

/** Lists all containers and sandboxes. */
export async function listBare(call: BareCall): Promise<{ containers: BareItem[]; sandboxes: BareItem[] }> {
  const [sandboxes, containers] = await Promise.all([
    call(LIST_POD_SANDBOX, NO_FILTER).then((bytes) => decodeBareList(bytes, SANDBOX_STATE)),
    call(LIST_CONTAINERS, NO_FILTER).then((bytes) => decodeBareList(bytes, CONTAINER_STATE)),
  ]);
  return { containers, sandboxes };
}

/** Node has this on every Buffer, without the checks of `toString('latin1', …)`; its types leave it out. */
type SlicedBuffer = Buffer & { latin1Slice(start: number, end: number): string };

/** Reads id and state of every item of a message whose items are in field 1. */
export function decodeBareList(bytes: Buffer, stateField: number): BareItem[] {
  const cursor = new Cursor(bytes);
  const items: BareItem[] = [];
  while (cursor.at < bytes.length) {
    const tag = cursor.varint();
    if (tag !== ((1 << 3) | 2)) {
      cursor.skip(tag);
      continue;
    }
    const end = cursor.varint() + cursor.at;
    let id = '';
    let state = 0;
    while (cursor.at < end) {
      const field = cursor.varint();
      if (field === ((1 << 3) | 2)) {
        const length = cursor.varint();
        id = (bytes as SlicedBuffer).latin1Slice(cursor.at, cursor.at + length); // ids are ASCII
        cursor.at += length;
      } else if (field === stateField << 3) {
        state = cursor.varint();
      } else {
        cursor.skip(field);
      }
    }
    items.push({ id, state });
  }
  return items;
}

/** A place in a protobuf message. */
class Cursor {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  varint(): number {
    let byte = this.#bytes[this.at++]!;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      byte = this.#bytes[this.at++]!;
      value += (byte & 0x7f) * scale;
    }
    return value;
  }

  /** Past the value that belongs to a tag. */
  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === 2) {
      const length = this.varint();
      this.at += length;
    } else if (wireType === 0) {
      while (this.#bytes[this.at++]! >= 0x80);
    } else if (wireType === 1) {
      this.at += 8;
    } else if (wireType === 5) {
      this.at += 4;
    } else {
      throw new Error(`wire type ${wireType} at byte ${this.at}`);
    }
  }
}
