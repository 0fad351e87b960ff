import { ContainerEventType, type ContainerEventResponse } from '#watch/messages';

const DEFAULT_CAPACITY = 1000;

/** One reader's connection. */
export interface EventSink {
  /** Hands out an event; false when no more should come until {@link EventReader.resume} is called. */
  write(event: ContainerEventResponse): boolean;
  /** The reader was too slow and gets nothing more. */
  drop(): void;
  /** There will be no more events: the runtime ends. */
  end(): void;
}

/** One reader, its queue and its lag. */
export class EventReader {
  readonly #sink: EventSink;
  readonly #capacity: number;
  readonly #waiting: ContainerEventResponse[] = [];
  #blocked = false;

  constructor(sink: EventSink, capacity: number) {
    this.#sink = sink;
    this.#capacity = capacity;
  }

  /** Takes an event; false when the reader had to be dropped. Never waits. */
  offer(event: ContainerEventResponse): boolean {
    if (!this.#blocked) {
      this.#blocked = !this.#sink.write(event);
      return true;
    }
    if (this.#waiting.length < this.#capacity) {
      this.#waiting.push(event);
      return true;
    }
    this.#waiting.length = 0;
    this.#sink.drop();
    return false;
  }

  /** Ends the stream in good order. */
  end(): void {
    this.#waiting.length = 0;
    this.#sink.end();
  }

  /** The connection takes events again. */
  resume(): void {
    this.#blocked = false;
    let sent = 0;
    while (sent < this.#waiting.length && !this.#blocked)
      this.#blocked = !this.#sink.write(this.#waiting[sent++]!);
    this.#waiting.splice(0, sent);
  }
}

/**
 * Hands every event to every reader of GetContainerEvents.
 *
 * Nobody waits for a reader: one that lags by more than its queue is dropped with an error, which makes it connect
 * and list again. That way it knows that it has missed something.
 */
export class EventHub {
  /** How many events wait for one reader before it is dropped (default: 1000). */
  readonly readerCapacity: number;
  readonly #readers = new Set<EventReader>();
  #droppedReaders = 0;

  constructor(options: { readonly readerCapacity?: number | undefined } = {}) {
    this.readerCapacity = options.readerCapacity ?? DEFAULT_CAPACITY;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** How many readers were dropped for their slowness so far. */
  get droppedReaders(): number {
    return this.#droppedReaders;
  }

  /** Whether anybody listens: ask before building an event. */
  get active(): boolean {
    return this.#readers.size > 0;
  }

  /** Gives it every event from now on. */
  add(sink: EventSink): EventReader {
    const reader = new EventReader(sink, this.readerCapacity);
    this.#readers.add(reader);
    return reader;
  }

  remove(reader: EventReader): void {
    this.#readers.delete(reader);
  }

  /** Ends every reader's stream. */
  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }

  publish(event: ContainerEventResponse): void {
    for (const reader of this.#readers) {
      if (reader.offer(event)) continue;
      this.#readers.delete(reader);
      this.#droppedReaders++;
    }
  }
}

/** The kinds of events by the words that people use. */
export const EVENT_TYPES = {
  created: ContainerEventType.CONTAINER_CREATED_EVENT,
  started: ContainerEventType.CONTAINER_STARTED_EVENT,
  stopped: ContainerEventType.CONTAINER_STOPPED_EVENT,
  deleted: ContainerEventType.CONTAINER_DELETED_EVENT,
} as const;
