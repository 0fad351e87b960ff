/**
 * The bare list calls: both lists in flight together over the product's own transport. An idle relist is held against
 * {@link BareComparison}, which reads id and state of each item by hand and compares them by bytes with what is known: less
 * cannot be done by whoever polls. {@link listBare} reads them into an object each, to have something to compare with.
 *
 * Written apart from the product's decoders on purpose; it shares no code with them.
 *
 * @module
 */

import { KnownList } from './known-list.js';

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

/** Field 1 with a length: of the answer an item, of an item the id. */
const ITEM_TAG = (1 << 3) | 2;
const ID_TAG = ITEM_TAG;

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

/** Lists all containers and sandboxes as often as it is told, and compares each time with what the first lists said. */
export class BareComparison {
  readonly #call: BareCall;
  readonly #sandboxes: KnownList;
  readonly #containers: KnownList;

  static async start(call: BareCall): Promise<BareComparison> {
    return new BareComparison(call, await listBare(call));
  }

  private constructor(call: BareCall, { sandboxes, containers }: Awaited<ReturnType<typeof listBare>>) {
    this.#call = call;
    this.#sandboxes = new KnownList(sandboxes, SANDBOX_STATE);
    this.#containers = new KnownList(containers, CONTAINER_STATE);
  }

  /** How many containers it compares with. */
  get containers(): number {
    return this.#containers.size;
  }

  /** Throws when anything changed: it would measure something else. */
  async run(): Promise<void> {
    const compare = async (path: string, known: KnownList): Promise<void> => {
      const { seen, changed } = known.compare(await this.#call(path, NO_FILTER));
      if (seen !== known.size || changed > 0)
        throw new Error(`${path}: ${changed} of ${seen} are new or other, and ${known.size} were known`);
    };
    await Promise.all([
      compare(LIST_POD_SANDBOX, this.#sandboxes),
      compare(LIST_CONTAINERS, this.#containers),
    ]);
  }
}

/** Node has this on every Buffer, without the checks of `toString('latin1', …)`; its types leave it out. */
type SlicedBuffer = Buffer & { latin1Slice(start: number, end: number): string };

/** Reads id and state of every item of a message whose items are in field 1. */
export function decodeBareList(bytes: Buffer, stateField: number): BareItem[] {
  const stateTag = stateField << 3;
  const items: BareItem[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = readTag();
    if (tag !== ITEM_TAG) {
      skip(tag);
      continue;
    }
    const end = readVarint() + at;
    let id = '';
    let state = 0;
    while (at < end) {
      const field = readTag();
      if (field === ID_TAG) {
        const length = readVarint();
        id = (bytes as SlicedBuffer).latin1Slice(at, at + length); // ids are ASCII
        at += length;
      } else if (field === stateTag) {
        state = readVarint();
      } else {
        skip(field);
      }
    }
    items.push({ id, state });
  }
  return items;

  function readTag(): number {
    return bytes[at]! < 0x80 ? bytes[at++]! : readVarint();
  }

  function readVarint(): number {
    let byte = bytes[at++]!;
    let value = byte & 0x7f;
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      byte = bytes[at++]!;
      value += (byte & 0x7f) * scale;
    }
    return value;
  }

  function skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === 2) {
      const length = readVarint();
      at += length;
    } else if (wireType === 0) {
      while (bytes[at++]! >= 0x80);
    } else if (wireType === 1) {
      at += 8;
    } else if (wireType === 5) {
      at += 4;
    } else {
      throw new Error(`wire type ${wireType} at byte ${at}`);
    }
  }
}
