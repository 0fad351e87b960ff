import { type ServerWritableStream, status } from '@grpc/grpc-js';
import { type ClockTimer } from '#base/time/clock.js';
import { type RecordingFile } from '../recording-file.js';
import { type ReplayClock } from './replay-clock.js';
import { type Timeline } from './timeline.js';

/** An event, or the end of the streams that were open. */
interface Happening {
  readonly at: number;
  readonly blob?: number;
  readonly end?: { readonly code: number; readonly message: string };
}

const UNIMPLEMENTED: number = status.UNIMPLEMENTED;
/** Events that a reader may be behind. */
const MAX_UNREAD = 10_000;
/** Of two readers that both got every event, the second has it within this time: it is not another one. */
const SAME_EVENT_US = 1_000_000;

type Reader = ServerWritableStream<Buffer, Buffer>;

/** Sends the events of a recording, at their times, to everybody who reads events. */
export class EventPlayer {
  readonly #file: RecordingFile;
  readonly #clock: ReplayClock;
  readonly #happenings: readonly Happening[];
  readonly #hasStreams: boolean;
  readonly #readers = new Set<Reader>();
  #timer: ClockTimer | undefined;
  #next = 0;
  #lap = 0;
  #isClosed = false;

  constructor(file: RecordingFile, { calls }: Timeline, clock: ReplayClock) {
    this.#file = file;
    this.#clock = clock;
    const streams = calls.filter(({ method }) => method.name === 'GetContainerEvents');
    this.#hasStreams = streams.some(({ code }) => code !== UNIMPLEMENTED);
    const lastSeen = new Map<number, { at: number; call: number }>();
    const events = streams
      .flatMap(({ number, messages }) => messages.map(({ at, blob }) => ({ at, blob, call: number })))
      .sort((one, other) => one.at - other.at)
      .filter(({ at, blob, call }) => {
        const before = lastSeen.get(blob);
        lastSeen.set(blob, { at, call });
        return before === undefined || before.call === call || at - before.at > SAME_EVENT_US;
      });
    const ends = streams.flatMap(({ endAt, code, message }) =>
      endAt === undefined || code === undefined || code === UNIMPLEMENTED
        ? []
        : [{ at: endAt, end: { code, message } }],
    );
    this.#happenings = [...events, ...ends].sort((one, other) => one.at - other.at);
  }

  /** Whether anybody read events in the recording, and got any answer. */
  get hasStreams(): boolean {
    return this.#hasStreams;
  }

  /** From now on the reader gets every event, until it goes away. */
  add(reader: Reader): void {
    this.#readers.add(reader);
    const forget = (): void => void this.#readers.delete(reader);
    reader.once('cancelled', forget);
    reader.once('close', forget);
    if (this.#timer === undefined && !this.#isClosed) this.#seek();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    for (const reader of this.#readers) endReader(reader, status.UNAVAILABLE, 'the replay has ended');
    this.#readers.clear();
  }

  /** What has happened by now is over: only what comes is sent. */
  #seek(): void {
    const { at, lap } = this.#clock.now();
    this.#lap = lap;
    const next = this.#happenings.findIndex((each) => each.at > at);
    this.#next = next < 0 ? this.#happenings.length : next;
    this.#arm();
  }

  #arm(): void {
    if (this.#isClosed) return;
    if (this.#next >= this.#happenings.length) {
      if (!this.#clock.loops || this.#happenings.length === 0) return;
      this.#next = this.#happenings.findIndex(({ at }) => at >= this.#clock.from);
      if (this.#next < 0) return;
      this.#lap++;
    }
    this.#timer = this.#clock.setTimer(this.#happenings[this.#next]!.at, this.#lap, () => void this.#play());
  }

  async #play(): Promise<void> {
    const happening = this.#happenings[this.#next++];
    if (happening === undefined) return;
    try {
      await this.#send(happening);
    } catch {
      for (const reader of this.#readers)
        endReader(reader, status.DATA_LOSS, 'the recording cannot be read any more');
    }
    this.#arm();
  }

  async #send({ blob, end }: Happening): Promise<void> {
    const event = blob === undefined ? undefined : await this.#file.readBlob(blob);
    for (const reader of [...this.#readers]) {
      if (end !== undefined) endReader(reader, end.code, end.message);
      else if (reader.writableLength >= MAX_UNREAD)
        endReader(reader, status.RESOURCE_EXHAUSTED, 'events are not read as fast as they come');
      else reader.write(event!);
    }
  }
}

function endReader(reader: Reader, code: number, message: string): void {
  if (code === 0) reader.end();
  else reader.emit('error', { code, details: message });
}
