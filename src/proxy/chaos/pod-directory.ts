import { type GrpcMessage } from '../relay/index.js';
import {
  CONTAINER_CONFIG_FIELDS,
  CONTAINER_FIELDS,
  CONTAINER_METADATA_FIELDS,
  CONTAINER_STATUS_ANSWER_FIELDS,
  CONTAINER_STATUS_FIELDS,
  type ContainerFields,
  CREATE_CONTAINER_ANSWER_FIELDS,
  CREATE_CONTAINER_REQUEST_FIELDS,
  RUN_SANDBOX_ANSWER_FIELDS,
  RUN_SANDBOX_REQUEST_FIELDS,
  SANDBOX_CONFIG_FIELDS,
  SANDBOX_FIELDS,
  SANDBOX_METADATA_FIELDS,
  SANDBOX_STATUS_ANSWER_FIELDS,
} from './cri-fields.js';
import { ListScanner, type SeenIds } from './faults/list-scanner.js';
import { findAllBytes, findBytes, findInMap, ifReadable, readString } from '#base/wire/protobuf-fields.js';

/** A pod as people name it. */
export interface PodName {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What is known of an id. */
export interface KnownId {
  /** Undefined until a message has named the pod. */
  readonly pod: PodName | undefined;
  readonly sandboxId?: string;
  /** Of a container. */
  readonly containerName?: string;
}

/** What messages have said about a container; empty where they have not. */
interface ContainerEntry {
  readonly sandboxId: string;
  readonly name: string;
  /** From its labels, until a message names the sandbox. */
  readonly labelled: PodName | undefined;
}

/** Options of a {@link PodDirectory}. */
export interface PodDirectoryOptions {
  /** How many ids of each kind are kept, far more than a node has; the oldest go first. */
  readonly mostIds?: number;
}

const MAX_IDS = 100_000;

const POD_NAME_LABEL = 'io.kubernetes.pod.name';
const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
const POD_UID_LABEL = 'io.kubernetes.pod.uid';

/**
 * Which pod and container an id belongs to, learned from the messages that pass: requests of CRI name ids only.
 *
 * A container's pod is that of its sandbox, whichever of the two was seen first; where no message names the
 * sandbox, it is what labels say, which the kubelet writes on containers, and others do not.
 *
 * Nearly all items of nearly all lists were in one before. Such an item is known by its id alone, since neither its
 * pod nor its name can change, and nothing else of it is looked at.
 */
export class PodDirectory {
  readonly #pods = new Map<string, PodName>();
  readonly #containers = new Map<string, ContainerEntry>();
  /** By sandbox id: what labels of a container there say. */
  readonly #labelledPods = new Map<string, PodName>();
  /** The ids that were seen in lists. */
  readonly #listedPods: SeenIds = new Map();
  readonly #listedContainers: SeenIds = new Map();
  readonly #mostIds: number;

  constructor({ mostIds = MAX_IDS }: PodDirectoryOptions = {}) {
    this.#mostIds = mostIds;
  }

  findSandbox(id: string): KnownId | undefined {
    const pod = this.#findPod(id);
    return pod && { pod, sandboxId: id };
  }

  findContainer(id: string): KnownId | undefined {
    const entry = this.#containers.get(id);
    if (entry === undefined) return undefined;
    const { sandboxId, name, labelled } = entry;
    const pod = (sandboxId === '' ? undefined : this.#findPod(sandboxId)) ?? labelled;
    return { pod, ...(sandboxId === '' ? {} : { sandboxId }), containerName: name };
  }

  /** Learns from the bytes of one answer that is a list of pods or containers; undefined for other methods. */
  createScanner(method: string): ListScanner | undefined {
    switch (method) {
      case 'ListPodSandbox':
      case 'StreamPodSandboxes':
        return createScanner(this.#listedPods, (item) => this.learnSandbox(item));
      case 'ListContainers':
      case 'StreamContainers':
        return createScanner(this.#listedContainers, (item) => this.learnContainer(item, CONTAINER_FIELDS));
      default:
        return undefined;
    }
  }

  /** Learns from the answer to a call, and its request. Throws RangeError when one is no message. */
  learn(method: string, request: Buffer, message: GrpcMessage): void {
    const scanner = this.createScanner(method);
    if (scanner !== undefined) {
      for (const piece of message.pieces) scanner.push(piece);
      return;
    }
    if (!message.isReadable) return;
    switch (method) {
      case 'PodSandboxStatus': {
        const { status, containerStatuses } = SANDBOX_STATUS_ANSWER_FIELDS;
        const { payload } = message;
        this.learnStatuses(findBytes(payload, status), findAllBytes(payload, containerStatuses));
        break;
      }
      case 'ContainerStatus': {
        const status = findBytes(message.payload, CONTAINER_STATUS_ANSWER_FIELDS.status);
        if (status !== undefined) this.learnContainer(status, CONTAINER_STATUS_FIELDS);
        break;
      }
      case 'RunPodSandbox': {
        const pod = readPodOfConfig(findBytes(request, RUN_SANDBOX_REQUEST_FIELDS.config));
        this.#addPod(readString(message.payload, RUN_SANDBOX_ANSWER_FIELDS.sandboxId), pod);
        break;
      }
      case 'CreateContainer': {
        const { sandboxId, config, sandboxConfig } = CREATE_CONTAINER_REQUEST_FIELDS;
        const id = readString(message.payload, CREATE_CONTAINER_ANSWER_FIELDS.containerId);
        const sandbox = readString(request, sandboxId);
        if (!this.#pods.has(sandbox))
          this.#addPod(sandbox, readPodOfConfig(findBytes(request, sandboxConfig)));
        this.#addContainer(id, findBytes(request, config) ?? EMPTY, CONTAINER_CONFIG_FIELDS, sandbox);
        break;
      }
    }
  }

  /** Learns from a PodSandboxStatus and those of its containers; gives the sandbox's id, empty when there is none. */
  learnStatuses(sandbox: Buffer | undefined, containers: readonly Buffer[]): string {
    const sandboxId = sandbox === undefined ? '' : this.learnSandbox(sandbox);
    for (const status of containers) this.learnContainer(status, CONTAINER_STATUS_FIELDS, sandboxId);
    return sandboxId;
  }

  /** Learns from a PodSandbox or a PodSandboxStatus, and gives its id. */
  learnSandbox(item: Buffer): string {
    const id = readString(item, SANDBOX_FIELDS.id);
    if (!this.#pods.has(id)) this.#addPod(id, readPodName(findBytes(item, SANDBOX_FIELDS.metadata)));
    return id;
  }

  /** Learns from a Container or a ContainerStatus, of a sandbox that is known otherwise; gives its id. */
  learnContainer(item: Buffer, fields: ContainerFields, sandboxId = ''): string {
    const id = readString(item, fields.id);
    this.#addContainer(id, item, fields, sandboxId);
    return id;
  }

  #findPod(sandboxId: string): PodName | undefined {
    return this.#pods.get(sandboxId) ?? this.#labelledPods.get(sandboxId);
  }

  #addPod(id: string, pod: PodName | undefined): void {
    if (id === '' || pod === undefined) return;
    this.#labelledPods.delete(id);
    this.#add(this.#pods, id, pod, this.#listedPods);
  }

  #addContainer(id: string, item: Buffer, fields: ContainerFields, knownSandboxId: string): void {
    const known = this.#containers.get(id);
    if (id === '' || (known !== undefined && known.sandboxId !== '')) return;
    const sandboxId = knownSandboxId === '' ? readOptional(item, fields.sandboxId) : knownSandboxId;
    const name = readString(findBytes(item, fields.metadata) ?? EMPTY, CONTAINER_METADATA_FIELDS.name);
    // Labels are the most of it, and nothing new where the sandbox is known.
    let labelled = this.#findPod(sandboxId) === undefined ? readPodOfLabels(item, fields.labels) : undefined;
    if (sandboxId !== '') {
      labelled ??= known?.labelled;
      if (labelled !== undefined) this.#add(this.#labelledPods, sandboxId, labelled, this.#listedContainers);
      labelled = undefined;
    }
    if (sandboxId === '' && labelled === undefined && name === '') return;
    this.#add(this.#containers, id, { sandboxId, name, labelled }, this.#listedContainers);
  }

  #add<T>(table: Map<string, T>, id: string, known: T, listed: SeenIds): void {
    table.set(id, known);
    if (table.size <= this.#mostIds) return;
    for (const oldest of table.keys()) {
      table.delete(oldest);
      break;
    }
    // The next list names it again, if it is still there.
    listed.clear();
  }
}

const EMPTY = Buffer.alloc(0);

/** An item that cannot be read is the client's to make sense of, and will be no better the next time. */
function createScanner(known: SeenIds, learn: (item: Buffer) => void): ListScanner {
  return new ListScanner({ known, onNew: (item) => ifReadable(() => learn(item)) });
}

/** The pod that a PodSandboxConfig makes. */
export function readPodOfConfig(config: Buffer | undefined): PodName | undefined {
  return config && readPodName(findBytes(config, SANDBOX_CONFIG_FIELDS.metadata));
}

/** PodSandboxMetadata; undefined when it names nothing. */
function readPodName(metadata: Buffer | undefined): PodName | undefined {
  if (metadata === undefined) return undefined;
  const name = readString(metadata, SANDBOX_METADATA_FIELDS.name);
  if (name === '') return undefined;
  return {
    uid: readString(metadata, SANDBOX_METADATA_FIELDS.uid),
    namespace: readString(metadata, SANDBOX_METADATA_FIELDS.namespace),
    name,
  };
}

function readPodOfLabels(item: Buffer, labelsField: number): PodName | undefined {
  const label = (key: string): string => findInMap(item, labelsField, key) ?? '';
  const name = label(POD_NAME_LABEL);
  return name === '' ? undefined : { uid: label(POD_UID_LABEL), namespace: label(POD_NAMESPACE_LABEL), name };
}

function readOptional(item: Buffer, number: number): string {
  return number === 0 ? '' : readString(item, number);
}
