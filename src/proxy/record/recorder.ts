import { type GrpcMessage } from '../relay/index.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type RecordedMethod } from './recorded-method.js';
import { LARGEST_MESSAGE, type EndFrame } from './recording-format.js';
import { type RecordingParts } from './recording-parts.js';
import { redactError } from './redaction/redact-error.js';
import { Redactor } from './redaction/redactor.js';
import { type RedactionRules } from './redaction/redaction-rules.js';
import { SecretBook } from './redaction/secret-book.js';

/** What a {@link Recorder} needs. */
export interface RecorderOptions {
  readonly parts: RecordingParts;
  readonly rules: RedactionRules;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once when writing ends for good, with the reason. */
  readonly onEnded: (reason: 'full' | 'failed', message: string) => void;
}

/** What was recorded so far. */
export interface RecordCounts {
  readonly calls: number;
  /** Calls that have begun and not ended. */
  readonly open: number;
  readonly messages: number;
  /** Bytes on the disk, of all files. */
  readonly bytes: number;
  readonly files: number;
  /** Values that were taken out. */
  readonly redacted: number;
  /** Fields that CRI v1 does not have, left out. */
  readonly unknownFields: number;
  /** Messages that could not be read, or were too large: only that they were there is recorded. */
  readonly unreadable: number;
  /** Calls and messages that came faster than they could be written. */
  readonly lost: number;
  /** Why nothing is written any more; absent while it is, and of a recording that was ended. */
  readonly ended?: 'full' | 'failed';
}

type Item =
  | {
      readonly kind: 'begin';
      readonly call: number;
      readonly atMs: number;
      readonly method: RecordedMethod;
      readonly connection: number;
      readonly timeout: string | undefined;
      readonly request: GrpcMessage | undefined;
    }
  | {
      readonly kind: 'message';
      readonly call: number;
      readonly atMs: number;
      readonly method: RecordedMethod;
      readonly message: GrpcMessage;
    }
  | {
      readonly kind: 'end';
      readonly call: number;
      readonly atMs: number;
      readonly method: RecordedMethod;
      readonly how: Omit<EndFrame, 'call' | 'at'>;
    };

/** What may wait to be written: as many messages, as many bytes. More is lost, and counted. */
const MAX_WAITING = 50_000;
const MAX_WAITING_BYTES = 64 * 2 ** 20;

/** Methods whose errors quote what was to be run. */
const QUOTING = new Set([
  ...['RunPodSandbox', 'CreateContainer', 'StartContainer', 'ExecSync', 'Exec', 'Attach', 'ContainerStatus'],
]);

/**
 * Takes what passes, takes out what may be secret, and writes the rest, one after another in a queue of its own: the
 * calls themselves never wait for it.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #secrets = new SecretBook();
  readonly #redactor: Redactor;
  #queue: Item[] = [];
  #queuedBytes = 0;
  #working: Promise<void> | undefined;
  #lastCall = 0;
  /** Calls that are open, with how many messages of theirs were lost. */
  readonly #open = new Map<number, number>();
  #messages = 0;
  #unreadable = 0;
  #lost = { calls: 0, messages: 0 };
  #lostBefore = 0;
  /** When the last of them was lost. */
  #lostMs = 0;
  /** Whether anything more is taken. */
  #isTaking = true;
  #hasNotifiedEnd = false;
  #closing: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#redactor = new Redactor(options.rules, this.#secrets);
  }

  get counts(): RecordCounts {
    const { bytes, parts, ended } = this.#options.parts;
    return {
      ...{ calls: this.#lastCall, open: this.#open.size, messages: this.#messages, bytes, files: parts },
      ...this.#redactor.counts,
      ...{ unreadable: this.#unreadable, lost: this.#lostBefore + this.#lost.calls + this.#lost.messages },
      ...(ended === undefined ? {} : { ended: ended.reason }),
    };
  }

  /** A call's request is complete. Returns its number; undefined when it is not recorded. */
  begin(what: {
    readonly method: RecordedMethod;
    readonly atMs: number;
    readonly connection: number;
    readonly timeout: string | undefined;
    readonly request: GrpcMessage | undefined;
  }): number | undefined {
    if (!this.#isTaking) return undefined;
    if (!this.#hasRoom) {
      this.#lost.calls++;
      this.#lostMs = what.atMs;
      return undefined;
    }
    const call = ++this.#lastCall;
    this.#open.set(call, 0);
    this.#push({ kind: 'begin', call, ...what }, what.request?.length ?? 0);
    return call;
  }

  message(call: number, method: RecordedMethod, atMs: number, message: GrpcMessage): void {
    if (!this.#isTaking) return;
    this.#messages++;
    if (this.#hasRoom) this.#push({ kind: 'message', call, method, atMs, message }, message.length);
    else {
      this.#lost.messages++;
      this.#lostMs = atMs;
      this.#open.set(call, (this.#open.get(call) ?? 0) + 1);
    }
  }

  end(call: number, method: RecordedMethod, atMs: number, how: Omit<EndFrame, 'call' | 'at'>): void {
    const missing = this.#open.get(call) ?? 0;
    this.#open.delete(call);
    // Small, and at most one for each recorded call: always written, or the call would seem to hang.
    this.#push({ kind: 'end', call, method, atMs, how: missing > 0 ? { ...how, missing } : how }, 0);
  }

  /** Writes all that has come by now. */
  async flush(): Promise<void> {
    await this.#working;
    await this.#options.parts.flush();
  }

  /** Writes what waits, and the last frame. Calls that are open stay open in it. */
  async close(): Promise<void> {
    this.#isTaking = false;
    // What passed by now is written later, and nothing hung for as long as that takes.
    const atMs = this.#options.clock.monotonicMs();
    await this.#working;
    await this.#closeParts(atMs);
    await this.#notifyIfEnded();
  }

  #closeParts(atMs: number): Promise<void> {
    const { calls, redacted, unknownFields, unreadable } = this.counts;
    const counts = { calls, redacted, unknownFields, unreadable };
    this.#closing ??= this.#options.parts.close(counts, 'stopped', atMs);
    return this.#closing;
  }

  get #hasRoom(): boolean {
    return this.#queue.length < MAX_WAITING && this.#queuedBytes < MAX_WAITING_BYTES;
  }

  #push(item: Item, bytes: number): void {
    if (!this.#isTaking) return;
    this.#queue.push(item);
    this.#queuedBytes += bytes;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  async #work(): Promise<void> {
    // Behind what is just being relayed.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const items = this.#queue;
      this.#queue = [];
      for (const item of items) {
        if (this.#options.parts.ended !== undefined) break;
        try {
          await this.#write(item);
        } catch (error) {
          this.#options.logger.error('What passed could not be recorded', error, {
            method: item.method.name,
          });
        }
      }
      this.#queuedBytes = this.#queue.reduce((sum, item) => sum + bytesOf(item), 0);
      await this.#writeLost();
      await this.#notifyIfEnded();
    }
  }

  async #write(item: Item): Promise<void> {
    const { parts } = this.#options;
    const { call, atMs, method } = item;
    if (item.kind === 'begin') {
      const { connection, timeout } = item;
      const request = await this.#redact(method.requestType, item.request);
      const frame = { call, method: method.path, connection, ...(timeout === undefined ? {} : { timeout }) };
      await parts.begin(frame, atMs, request);
    } else if (item.kind === 'message') {
      await parts.message(call, atMs, await this.#redact(method.responseType, item.message));
    } else {
      const { message } = item.how;
      const redacted =
        message === undefined
          ? {}
          : { message: await redactError(message, this.#secrets, QUOTING.has(method.name)) };
      await parts.end(call, atMs, { ...item.how, ...redacted });
    }
  }

  async #redact(type: string, message: GrpcMessage | undefined): Promise<Buffer | undefined> {
    if (message === undefined || !message.isReadable || message.length > LARGEST_MESSAGE) {
      this.#unreadable++;
      return undefined;
    }
    try {
      return await this.#redactor.redact(type, message.payload);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#unreadable++;
      return undefined;
    }
  }

  async #writeLost(): Promise<void> {
    const lost = this.#lost;
    if (lost.calls + lost.messages === 0) return;
    this.#lost = { calls: 0, messages: 0 };
    this.#lostBefore += lost.calls + lost.messages;
    const { parts, logger } = this.#options;
    logger.warn('Calls came faster than they could be recorded', lost);
    await parts.lost(this.#lostMs, lost);
  }

  async #notifyIfEnded(): Promise<void> {
    const { parts, onEnded, clock } = this.#options;
    const { ended } = parts;
    if (ended === undefined || this.#hasNotifiedEnd) return;
    this.#hasNotifiedEnd = true;
    this.#isTaking = false;
    this.#queue = [];
    // It is whole now, however the program ends.
    await this.#closeParts(clock.monotonicMs());
    onEnded(
      ended.reason,
      ended.reason === 'failed' ? ended.error.message : 'it has the size that it may have',
    );
  }
}

function bytesOf(item: Item): number {
  if (item.kind === 'begin') return item.request?.length ?? 0;
  return item.kind === 'message' ? item.message.length : 0;
}
