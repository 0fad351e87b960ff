import { matchesLabels } from '#base/text/matches-labels.js';
import {
  type ContainerFilter,
  ListContainersResponse,
  ListPodSandboxResponse,
  type PodSandboxFilter,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { type PodFacts, toContainer, toPodSandbox } from './synthetic-messages.js';
import { containerLabels, sandboxLabels } from './kubelet-metadata.js';
import { type SyntheticContainer } from './synthetic-control.js';
import { type SyntheticNode } from './synthetic-node.js';

const UID_LABEL = 'io.kubernetes.pod.uid';
/** So many places at which an answer may begin. */
const BEGINNINGS = 4;

/**
 * List answers as bytes, made again only after a change, so that a benchmark measures the client.
 *
 * Whole lists come in the manner of containerd, which walks over a Go map: the order has nothing to do with age, and
 * each answer begins somewhere else in it. ListX and StreamX have their items in the same field, so the same bytes
 * serve both.
 */
export class ListAnswers {
  readonly #node: SyntheticNode;
  /** What one item adds to the answer; valid as long as the pod or container is the same object. */
  readonly #containerChunks = new WeakMap<SyntheticContainer, Uint8Array>();
  readonly #sandboxChunks = new WeakMap<PodFacts, Uint8Array>();
  readonly #containers = new WholeList(() => this.#containerItems());
  readonly #sandboxes = new WholeList(() => this.#sandboxItems());

  constructor(node: SyntheticNode) {
    this.#node = node;
  }

  /** The answer to ListContainers. */
  containers(filter: ContainerFilter | undefined): Buffer {
    if (!isEmpty(filter)) return Buffer.concat([...this.#containerItems(filter)]);
    return this.#containers.next(this.#node.revision);
  }

  /** The answer to ListPodSandbox. */
  sandboxes(filter: PodSandboxFilter | undefined): Buffer {
    if (!isEmpty(filter)) return Buffer.concat([...this.#sandboxItems(filter)]);
    return this.#sandboxes.next(this.#node.revision);
  }

  /** The messages of StreamContainers, with that many items in each. */
  *containerMessages(filter: ContainerFilter | undefined, itemsPerMessage: number): Iterable<Buffer> {
    yield* inMessages(this.#containerItems(filter), itemsPerMessage);
  }

  /** The messages of StreamPodSandboxes, with that many items in each. */
  *sandboxMessages(filter: PodSandboxFilter | undefined, itemsPerMessage: number): Iterable<Buffer> {
    yield* inMessages(this.#sandboxItems(filter), itemsPerMessage);
  }

  *#containerItems(filter?: ContainerFilter): Iterable<Uint8Array> {
    const owner = filter === undefined ? undefined : this.#ownerOf(filter.id || filter.podSandboxId, filter);
    for (const pod of owner ?? this.#node.pods()) {
      for (const container of pod.containers) {
        if (filter !== undefined && !matchesContainer(filter, pod, container)) continue;
        let chunk = this.#containerChunks.get(container);
        if (chunk === undefined) {
          chunk = ListContainersResponse.encode({ containers: [toContainer(pod, container)] }).finish();
          this.#containerChunks.set(container, chunk);
        }
        yield chunk;
      }
    }
  }

  *#sandboxItems(filter?: PodSandboxFilter): Iterable<Uint8Array> {
    const owner = filter === undefined ? undefined : this.#ownerOf(filter.id, filter);
    for (const pod of owner ?? this.#node.pods()) {
      if (filter !== undefined && !matchesSandbox(filter, pod)) continue;
      let chunk = this.#sandboxChunks.get(pod);
      if (chunk === undefined) {
        chunk = ListPodSandboxResponse.encode({ items: [toPodSandbox(pod)] }).finish();
        this.#sandboxChunks.set(pod, chunk);
      }
      yield chunk;
    }
  }

  /** The one pod that can match, where the filter names it: a look at one pod must not cost a walk over all. */
  #ownerOf(id: string, filter: { labelSelector: Record<string, string> }): PodFacts[] | undefined {
    const uid = filter.labelSelector[UID_LABEL];
    if (id === '' && uid === undefined) return undefined;
    const pod = id === '' ? this.#node.findPod(uid!) : this.#node.findPodOf(id);
    return pod === undefined ? [] : [pod];
  }
}

/** The answers to a list of everything, one for each place to begin at. */
class WholeList {
  readonly #items: () => Iterable<Uint8Array>;
  #revision: number | undefined;
  #ordered: readonly Uint8Array[] = [];
  #answers: (Buffer | undefined)[] = [];
  #given = 0;

  constructor(items: () => Iterable<Uint8Array>) {
    this.#items = items;
  }

  next(revision: number): Buffer {
    if (this.#revision !== revision) {
      this.#revision = revision;
      // An item begins with its tag, its length and its id, and ids are as good as drawn by chance.
      this.#ordered = [...this.#items()].sort((a, b) => Buffer.compare(a, b));
      this.#answers = [];
    }
    const beginning = this.#given++ % BEGINNINGS;
    const from = Math.floor((this.#ordered.length * beginning) / BEGINNINGS);
    return (this.#answers[beginning] ??= Buffer.concat([
      ...this.#ordered.slice(from),
      ...this.#ordered.slice(0, from),
    ]));
  }
}

function isEmpty(
  filter: { id: string; state: unknown; labelSelector: object; podSandboxId?: string } | undefined,
): boolean {
  if (filter === undefined) return true;
  const nothingNamed = filter.id === '' && (filter.podSandboxId ?? '') === '' && filter.state === undefined;
  return nothingNamed && Object.keys(filter.labelSelector).length === 0;
}

function matchesContainer(filter: ContainerFilter, pod: PodFacts, container: SyntheticContainer): boolean {
  if (filter.id !== '' && filter.id !== container.id) return false;
  if (filter.podSandboxId !== '' && filter.podSandboxId !== container.sandboxId) return false;
  if (filter.state !== undefined && filter.state.state !== toContainer(pod, container).state) return false;
  return matchesLabels(containerLabels(pod, container.name), filter.labelSelector);
}

function matchesSandbox(filter: PodSandboxFilter, pod: PodFacts): boolean {
  if (filter.id !== '' && filter.id !== pod.sandboxId) return false;
  if (filter.state !== undefined && filter.state.state !== toPodSandbox(pod).state) return false;
  return matchesLabels(sandboxLabels(pod), filter.labelSelector);
}

function* inMessages(items: Iterable<Uint8Array>, itemsPerMessage: number): Iterable<Buffer> {
  let message: Uint8Array[] = [];
  for (const item of items) {
    message.push(item);
    if (message.length === itemsPerMessage) {
      yield Buffer.concat(message);
      message = [];
    }
  }
  if (message.length > 0) yield Buffer.concat(message);
}
