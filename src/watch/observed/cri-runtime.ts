import { setImmediate as nextTurn } from 'node:timers/promises';

import {
  CallGroup,
  cri,
  type CriClient,
  CONTAINER_LIST,
  FieldOrder,
  RawLists,
  readContainerEvents,
  SANDBOX_LIST,
  scanList,
} from '../cri/index.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { Slots } from '#base/async/slots.js';

import { toRuntimeEvent } from './convert.js';
import { findPodInRuntime } from './pod-finder.js';
import { PodIndex } from './pod-index.js';
import { readPodStatus } from './pod-status-reader.js';
import { type ObservedPod, type PodStatus, type Runtime, type RuntimeEventHandlers } from './runtime.js';

/** Options of {@link CriRuntime}. */
export interface CriRuntimeOptions {
  readonly client: CriClient;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** How many items of a list are read before the event loop gets its turn (default: 2,000). */
  readonly sliceItems?: number;
}

/** Counts of what this version did not understand in the runtime's answers, since the start. */
export interface CriRuntimeCounters {
  unknownEnums: number;
  itemsWithoutId: number;
}

// A new item is decoded as a whole and added to the index, which takes about this many times as long.
const NEW_ITEM_COST = 20;

/**
 * A container runtime behind CRI, as the event generator sees it.
 *
 * Lists return pods grouped by uid, and the same object again for a pod in which nothing changed. An idle
 * list costs little more than the two calls: only id and state are read of known items.
 */
export class CriRuntime implements Runtime {
  readonly #client: CriClient;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #lists: RawLists;
  readonly #index: PodIndex;
  readonly #sliceItems: number | undefined;
  readonly #sandboxOrder = new FieldOrder();
  readonly #containerOrder = new FieldOrder();
  // Answers of overlapping lists are applied one after the other.
  readonly #applying = new Slots({ limit: 1 });
  readonly #counters: CriRuntimeCounters = { unknownEnums: 0, itemsWithoutId: 0 };

  constructor(options: CriRuntimeOptions) {
    this.#client = options.client;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#clock = options.clock ?? new SystemClock();
    this.#lists = new RawLists({ client: options.client });
    this.#index = new PodIndex({ counters: this.#counters });
    this.#sliceItems = options.sliceItems;
  }

  get counters(): Readonly<CriRuntimeCounters> {
    return this.#counters;
  }

  async listPods(signal?: AbortSignal): Promise<readonly ObservedPod[]> {
    const before = this.#client.connectionGeneration;
    const [sandboxes, containers] = await CallGroup.run(signal, (group) =>
      Promise.all([this.#lists.sandboxes({ group }), this.#lists.containers({ group })]),
    );
    // The connection of these answers is known only if no other one has come up meanwhile.
    const connection = this.#client.connectionGeneration === before ? before : undefined;
    const release = await this.#applying.take(undefined, signal);
    const startedMs = this.#clock.monotonicMs();
    try {
      const pods = await this.#apply(sandboxes, containers, connection, signal);
      if (this.#logger.enabled(6)) {
        const applyMs = this.#clock.monotonicMs() - startedMs;
        this.#logger.info('Listed pods', { pods: pods.length, items: this.#index.size, applyMs }, 6);
      }
      return pods;
    } finally {
      release();
    }
  }

  async findPod(uid: string, signal?: AbortSignal): Promise<ObservedPod | undefined> {
    const known = this.#index.find(uid) !== undefined;
    const options = { client: this.#client, index: this.#index, counters: this.#counters, signal };
    const pod = await findPodInRuntime(uid, options);
    if (pod !== undefined || known) return pod;
    // The pod may have been made without labels since the last list, and only a whole list shows that.
    return (await this.listPods(signal)).find((listed) => listed.uid === uid);
  }

  async getPodStatus(pod: ObservedPod, signal?: AbortSignal): Promise<PodStatus> {
    return await readPodStatus(pod, { client: this.#client, counters: this.#counters, signal });
  }

  async watchEvents(handlers: RuntimeEventHandlers, signal: AbortSignal): Promise<void> {
    await readContainerEvents(
      this.#client,
      {
        onOpen: () => handlers.onOpen?.(),
        onEvent: (event) => handlers.onEvent(toRuntimeEvent(event, this.#counters)),
        onSkipped: () => handlers.onSkipped?.(),
      },
      { signal, logger: this.#logger },
    );
  }

  async #apply(
    sandboxes: readonly Buffer[],
    containers: readonly Buffer[],
    connection: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<readonly ObservedPod[]> {
    const index = this.#index;
    this.#sandboxOrder.useConnection(connection);
    this.#containerOrder.useConnection(connection);
    index.beginSnapshot();
    // Sandboxes first, as a container without labels belongs to the pod of its sandbox.
    for (const answer of sandboxes) {
      await this.#scan(
        'ListPodSandbox',
        answer,
        SANDBOX_LIST,
        this.#sandboxOrder,
        signal,
        (bytes, idStart, idEnd) =>
          index.addSandbox(cri.PodSandbox.decode(this.#client.newReader(bytes)), idStart, idEnd),
      );
    }
    for (const answer of containers) {
      await this.#scan(
        'ListContainers',
        answer,
        CONTAINER_LIST,
        this.#containerOrder,
        signal,
        (bytes, idStart, idEnd) =>
          index.addContainer(cri.Container.decode(this.#client.newReader(bytes)), idStart, idEnd),
      );
    }
    const finishing = index.finishSnapshot();
    for (;;) {
      const step = finishing.next();
      if (step.done === true) return step.value;
      await nextTurn();
      signal?.throwIfAborted();
    }
  }

  async #scan(
    method: string,
    answer: Buffer,
    shape: typeof CONTAINER_LIST,
    order: FieldOrder,
    signal: AbortSignal | undefined,
    add: (item: Buffer, idStart: number, idEnd: number) => void,
  ): Promise<void> {
    const index = this.#index;
    const slices = { order, signal, ...(this.#sliceItems !== undefined && { sliceItems: this.#sliceItems }) };
    const wire = { unknownFields: 0 };
    index.beginAnswer(answer);
    try {
      await scanList(
        answer,
        shape,
        wire,
        (idStart, idEnd, state, start, end) => {
          if (index.see(idStart, idEnd, state)) return 1;
          if (idStart === idEnd) this.#counters.itemsWithoutId++;
          else add(answer.subarray(start, end), idStart, idEnd);
          return NEW_ITEM_COST;
        },
        slices,
      );
    } catch (error) {
      signal?.throwIfAborted();
      this.#client.countMalformedMessage();
      const message = `the answer to ${method} cannot be decoded: ${messageOf(error)}`;
      throw new PodloopError('CRI_MALFORMED_RESPONSE', message, { cause: error });
    } finally {
      this.#client.countUnknownFields(wire.unknownFields);
    }
  }
}
