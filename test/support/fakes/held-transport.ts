import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  GrpcStatusError,
  type StreamCall,
  type StreamHandlers,
  type Transport,
  type UnaryCall,
} from '#watch';

interface HeldCall {
  readonly name: string;
  readonly answer: (bytes: Buffer) => void;
  readonly fail: (error: GrpcStatusError) => void;
}

const NOT_AVAILABLE = 14;
const CANCELLED = 1;

/** A connection whose calls are answered when a test says so, and that remembers what was sent. */
export class HeldTransport implements Transport {
  readonly state = 'ready';
  readonly generation = 1;
  /** In the order in which they were sent. */
  readonly paths: string[] = [];
  /** Answers each call with an empty message, and ends each stream after one. */
  answersAtOnce = false;
  readonly #open = new Set<HeldCall>();

  unary(path: string): UnaryCall {
    const { promise, call } = this.#send<Buffer>(path, (bytes) => bytes);
    return { answer: promise, cancel: () => call.fail(new GrpcStatusError(CANCELLED, 'cancelled')) };
  }

  stream(path: string, _request: Uint8Array, handlers: StreamHandlers): StreamCall {
    const { promise, call } = this.#send(path, (bytes) => handlers.onMessage(bytes));
    const nothing = (): void => undefined;
    const cancel = (): void => call.fail(new GrpcStatusError(CANCELLED, 'cancelled'));
    return { ended: promise, cancel, pause: nothing, resume: nothing };
  }

  onStateChange(): () => void {
    return () => undefined;
  }

  close(): void {
    for (const call of this.#open) call.fail(new GrpcStatusError(CANCELLED, 'closed'));
  }

  /** The names of the methods that have no answer yet. */
  openPaths(): string[] {
    return [...this.#open].map(({ name }) => name);
  }

  /** Answers the oldest open call of that method. */
  answer(name: string, bytes: Uint8Array = Buffer.alloc(0)): void {
    this.#find(name).answer(Buffer.from(bytes));
  }

  fail(name: string): void {
    this.#find(name).fail(new GrpcStatusError(NOT_AVAILABLE, 'broken'));
  }

  /** Lets everything run that waits for nothing but its turn. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await nextTurn();
  }

  #find(name: string): HeldCall {
    const call = [...this.#open].find((each) => each.name === name);
    if (call === undefined) throw new Error(`no open call of ${name}; there are ${this.openPaths().join()}`);
    return call;
  }

  #send<T>(path: string, take: (bytes: Buffer) => T): { promise: Promise<T>; call: HeldCall } {
    this.paths.push(path);
    let [resolve, reject]: [(value: T) => void, (error: Error) => void] = [() => undefined, () => undefined];
    const promise = new Promise<T>((resolved, rejected) => ([resolve, reject] = [resolved, rejected]));
    const call: HeldCall = {
      name: path.slice(path.lastIndexOf('/') + 1),
      answer: (bytes) => {
        if (this.#open.delete(call)) resolve(take(bytes));
      },
      fail: (error) => {
        if (this.#open.delete(call)) reject(error);
      },
    };
    this.#open.add(call);
    if (this.answersAtOnce) call.answer(Buffer.alloc(0));
    return { promise, call };
  }
}
