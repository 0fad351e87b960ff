import { type RuntimeEvent, type RuntimeEventHandlers } from '../watch/observed/runtime.js';

interface Reader {
  readonly handlers: RuntimeEventHandlers;
  readonly end: () => void;
  readonly break: (error: Error) => void;
}

/** The event stream of a fake runtime: any number of readers, and each gets every event. */
export class FakeEventStream {
  readonly #readers = new Set<Reader>();
  readonly #backlog: RuntimeEvent[] = [];
  #refusal: Error | undefined;
  #callsOpen = true;
  #watchCalls = 0;

  /** How many are reading now. */
  get readers(): number {
    return this.#readers.size;
  }

  /** How many have ever asked to read, refused ones included. */
  get watchCalls(): number {
    return this.#watchCalls;
  }

  /** Hands the event to every reader, synchronously. Lost when there is none. */
  emit(event: RuntimeEvent): void {
    for (const reader of [...this.#readers]) reader.handlers.onEvent(event);
  }

  /** Lets every reader know that an event came which cannot be read. */
  skip(): void {
    for (const reader of [...this.#readers]) reader.handlers.onSkipped?.();
  }

  /** Keeps the events for the next reader, which gets them as soon as it is connected. */
  keepForNextReader(events: readonly RuntimeEvent[]): void {
    this.#backlog.push(...events);
  }

  /** Ends every stream in order. */
  end(): void {
    for (const reader of [...this.#readers]) reader.end();
  }

  /** Breaks every stream with `error`; whoever asks again is let in. */
  break(error: Error): void {
    for (const reader of [...this.#readers]) reader.break(error);
  }

  /** Whoever asks from now on is refused with `error`, until called with undefined. */
  refuse(error: Error | undefined): void {
    this.#refusal = error;
  }

  /** Whether `onOpen` is called; true at first. Some runtimes stay silent until the first event. */
  announceOpening(announce: boolean): void {
    this.#callsOpen = announce;
  }

  /** What `Runtime.watchEvents` does. */
  async watch(handlers: RuntimeEventHandlers, signal: AbortSignal): Promise<void> {
    this.#watchCalls++;
    signal.throwIfAborted();
    if (this.#refusal !== undefined) throw this.#refusal;
    // A real runtime answers over a socket, never within the call.
    await Promise.resolve();
    let stop: () => void = () => undefined;
    const ended = new Promise<void>((resolve, reject) => {
      const reader: Reader = { handlers, end: resolve, break: reject };
      const onAbort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#readers.add(reader);
      stop = () => {
        this.#readers.delete(reader);
        signal.removeEventListener('abort', onAbort);
      };
      if (signal.aborted) onAbort();
    });
    try {
      if (!signal.aborted) {
        if (this.#callsOpen) handlers.onOpen?.();
        for (const event of this.#backlog.splice(0)) handlers.onEvent(event);
      }
      await ended;
    } finally {
      stop();
    }
  }
}
