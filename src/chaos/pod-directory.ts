import { type GrpcMessage } from '../relay/index.js';
import { findBytes, findInMap, readFields, readString } from './protobuf-fields.js';

/** A pod as people name it. */
export interface PodName {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What is known of an id. */
export interface KnownId {
  readonly pod: PodName;
  /** Of a container. */
  readonly containerName?: string;
}

/** Far more than a node has; the oldest go first. */
const MOST_IDS = 100_000;

const POD_NAME_LABEL = 'io.kubernetes.pod.name';
const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
const POD_UID_LABEL = 'io.kubernetes.pod.uid';

/**
 * Which pod and container an id belongs to, learned from the messages that pass: requests of CRI name ids only.
 *
 * Of an id that is known nothing more is read, since neither its pod nor its name can change.
 */
export class PodDirectory {
  readonly #sandboxes = new Map<string, KnownId>();
  readonly #containers = new Map<string, KnownId>();
  /** Of the ids that lists have told, a number each: looked up without a string for each item of a list. */
  readonly #listed = new Set<number>();
  #scratch = Buffer.alloc(0);

  findSandbox(id: string): KnownId | undefined {
    return this.#sandboxes.get(id);
  }

  findContainer(id: string): KnownId | undefined {
    return this.#containers.get(id);
  }

  /** Learns from the answer to a call, and its request. Throws RangeError when one is no message. */
  learn(method: string, request: Buffer, message: GrpcMessage): void {
    if (!message.isReadable) return;
    if (this.#scratch.length < message.length) this.#scratch = Buffer.allocUnsafeSlow(message.length);
    const answer = message.readInto(this.#scratch);
    switch (method) {
      case 'ListPodSandbox':
      case 'StreamPodSandboxes':
        for (const item of this.#findNew(answer)) this.learnSandbox(item);
        break;
      case 'ListContainers':
      case 'StreamContainers':
        for (const { number, bytes } of readFields(answer))
          if (number === 1) this.learnContainer(bytes, 3, 8);
        break;
      case 'PodSandboxStatus':
        this.learnSandbox(findBytes(answer, 1));
        break;
      case 'ContainerStatus':
        this.learnContainer(findBytes(answer, 1), 2, 12);
        break;
      case 'RunPodSandbox': {
        const config = findBytes(request, 1);
        if (config !== undefined) this.#addSandbox(readString(answer, 1), findBytes(config, 1));
        break;
      }
      case 'CreateContainer': {
        const sandbox = this.#sandboxes.get(readString(request, 1));
        const metadata = findBytes(findBytes(request, 2) ?? EMPTY, 1);
        if (sandbox !== undefined && metadata !== undefined) {
          add(this.#containers, readString(answer, 1), {
            pod: sandbox.pod,
            containerName: readString(metadata, 1),
          });
        }
        break;
      }
    }
  }

  /** Learns from a PodSandbox or a PodSandboxStatus, and gives what is known of it. */
  learnSandbox(item: Buffer | undefined): KnownId | undefined {
    if (item === undefined) return undefined;
    const id = readFirstString(item);
    return this.#sandboxes.get(id) ?? this.#addSandbox(id, findBytes(item, 2));
  }

  /** Learns from a Container or a ContainerStatus, which differ in the numbers of two fields. */
  learnContainer(item: Buffer | undefined, metadataField: number, labelsField: number): KnownId | undefined {
    if (item === undefined) return undefined;
    const id = readFirstString(item);
    const known = this.#containers.get(id);
    if (known !== undefined) return known;
    const label = (key: string): string => findInMap(item, labelsField, key) ?? '';
    const pod = {
      uid: label(POD_UID_LABEL),
      namespace: label(POD_NAMESPACE_LABEL),
      name: label(POD_NAME_LABEL),
    };
    const containerName = readString(findBytes(item, metadataField) ?? EMPTY, 1);
    const learned = { pod, containerName };
    add(this.#containers, id, learned);
    return learned;
  }

  /**
   * The items of a list of which no list has told before. Nearly none are, in nearly every list, so of the others
   * nothing but the id is looked at, which every writer puts first.
   */
  #findNew(list: Buffer): Buffer[] {
    const found: Buffer[] = [];
    let at = 0;
    while (at < list.length) {
      if (list[at] !== FIRST_FIELD) {
        // A list with something else in it is read in the general way.
        return [...readFields(list)].filter(({ number }) => number === 1).map(({ bytes }) => bytes);
      }
      let length = 0;
      at++;
      for (let scale = 1, byte = 0x80; byte >= 0x80; scale *= 0x80) {
        byte = list[at++] ?? 0;
        length += (byte & 0x7f) * scale;
      }
      const end = at + length;
      const idLength = list[at] === FIRST_FIELD ? (list[at + 1] ?? 0) : 0;
      const hash = idLength > 0 && idLength < 0x80 ? hashOf(list, at + 2, at + 2 + idLength) : undefined;
      if (hash === undefined || !this.#listed.has(hash)) {
        found.push(list.subarray(at, end));
        if (hash !== undefined) this.#listed.add(hash);
      }
      at = end;
    }
    if (this.#listed.size > MOST_IDS) this.#listed.clear();
    return found;
  }

  #addSandbox(id: string, metadata: Buffer | undefined): KnownId | undefined {
    if (metadata === undefined) return undefined;
    const pod = {
      name: readString(metadata, 1),
      uid: readString(metadata, 2),
      namespace: readString(metadata, 3),
    };
    const learned = { pod };
    add(this.#sandboxes, id, learned);
    return learned;
  }
}

const EMPTY = Buffer.alloc(0);

/** A field 1 that has a length: the items of a list, and the id in each. */
const FIRST_FIELD = 0x0a;

/** A number of 53 bits that stands for these bytes: two ids with the same one are not to be expected. */
function hashOf(bytes: Buffer, from: number, to: number): number {
  let [one, other] = [0x811c9dc5, 0x9e3779b9];
  for (let at = from; at < to; at++) {
    one = Math.imul(one ^ bytes[at]!, 0x01000193);
    other = Math.imul(other ^ bytes[at]!, 0x85ebca6b) ^ (other >>> 15);
  }
  return (one >>> 0) * 2 ** 21 + (other >>> 11);
}

/** The id: field 1, which every writer puts first. */
function readFirstString(item: Buffer): string {
  for (const { number, bytes } of readFields(item)) if (number === 1) return bytes.toString('latin1');
  return '';
}

function add(table: Map<string, KnownId>, id: string, known: KnownId): void {
  if (id === '') return;
  table.set(id, known);
  if (table.size <= MOST_IDS) return;
  for (const oldest of table.keys()) {
    table.delete(oldest);
    return;
  }
}
