import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RAW_PREFACE,
  type RawFrame,
  rawFrame,
  type RawHttp2Peer,
  uint32,
} from '#support/clients/raw-http2-peer.js';
import { RelayHarness } from '#support/harness/relay-harness.js';
import { untilTrue } from '#support/until-true.js';
import { type CallControl, type CallHandler, type CallInterceptor } from './call-handler.js';
import { encodeStateless } from './hpack/encode-stateless.js';
import { GrpcMessage } from './grpc-message.js';

const FIRST_WINDOW = 65_535;
const LARGEST_FRAME = 16_384;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;

/** An answer of a call: bytes of the message, and what the relay does with it. */
interface PlannedCall {
  readonly bytes: number;
  readonly how: 'pass' | 'tap' | 'forward' | 'hold' | 'late' | 'drop' | 'double';
}

/** A server that sends as much as it is allowed to, and fails the test when it is told something impossible. */
class GreedyServer {
  connectionWindow = FIRST_WINDOW;
  readonly #peer: RawHttp2Peer;
  readonly #streamWindows = new Map<number, number>();
  readonly #left = new Map<number, Buffer>();
  readonly #initialWindow: number;
  #turn = 0;

  constructor(peer: RawHttp2Peer, initialWindow: number) {
    this.#peer = peer;
    this.#initialWindow = initialWindow;
    const handled = peer.frames.splice(0);
    peer.onFrame = (frame) => this.#take(frame);
    for (const frame of handled) this.#take(frame);
  }

  answer(streamId: number, bytes: number): void {
    this.#left.set(streamId, toMessage(bytes));
    this.#peer.send(rawFrame('HEADERS', streamId, encodeStateless([[':status', '200']]), END_HEADERS));
    this.#streamWindows.set(streamId, this.#windowOf(streamId));
  }

  /** Sends what it may, the streams in turn. */
  flush(): void {
    for (let idle = 0; this.#left.size > 0 && idle < this.#left.size;) {
      const streams = [...this.#left.keys()];
      const streamId = streams[this.#turn++ % streams.length]!;
      const bytes = this.#left.get(streamId)!;
      const length = Math.min(bytes.length, LARGEST_FRAME, this.connectionWindow, this.#windowOf(streamId));
      if (length <= 0) {
        idle++;
        continue;
      }
      idle = 0;
      this.connectionWindow -= length;
      this.#streamWindows.set(streamId, this.#windowOf(streamId) - length);
      this.#peer.send(rawFrame('DATA', streamId, bytes.subarray(0, length)));
      if (length < bytes.length) {
        this.#left.set(streamId, bytes.subarray(length));
        continue;
      }
      this.#left.delete(streamId);
      const trailers = encodeStateless([['grpc-status', '0']]);
      this.#peer.send(rawFrame('HEADERS', streamId, trailers, END_HEADERS | END_STREAM));
    }
  }

  #windowOf(streamId: number): number {
    return this.#streamWindows.get(streamId) ?? this.#initialWindow;
  }

  #take({ type, streamId, payload, flags }: RawFrame): void {
    if (type === 4 && (flags & 1) === 0) this.#peer.send(rawFrame('SETTINGS', 0, '', 0x1));
    if (type === 8) {
      const bytes = payload.readUInt32BE(0);
      expect(bytes).toBeGreaterThan(0);
      if (streamId === 0) this.connectionWindow += bytes;
      else this.#streamWindows.set(streamId, this.#windowOf(streamId) + bytes);
      // Of a connection whose client never asked for more than it had at first.
      expect(this.connectionWindow).toBeLessThanOrEqual(FIRST_WINDOW);
    }
    this.flush();
  }
}

/** A client that gives room only on demand, and notices when more comes than fits. */
class StrictClient {
  connectionWindow = FIRST_WINDOW;
  readonly bytesOf = new Map<number, number>();
  readonly ended = new Set<number>();
  readonly #peer: RawHttp2Peer;
  readonly #streamWindows = new Map<number, number>();
  readonly #initialWindow: number;
  readonly #readOf = new Map<number, number>();
  #read = 0;
  fault: string | undefined;
  onData: () => void = () => undefined;

  constructor(peer: RawHttp2Peer, initialWindow: number) {
    this.#peer = peer;
    this.#initialWindow = initialWindow;
    peer.onFrame = (frame) => this.#take(frame);
  }

  /** Gives room for all that has come. */
  readAll(): void {
    if (this.#read === 0) return;
    this.connectionWindow += this.#read;
    this.#peer.send(rawFrame('WINDOW_UPDATE', 0, uint32(this.#read)));
    this.#read = 0;
    for (const [streamId, bytes] of this.#readOf) {
      if (this.ended.has(streamId)) continue;
      this.#streamWindows.set(streamId, this.#windowOf(streamId) + bytes);
      this.#peer.send(rawFrame('WINDOW_UPDATE', streamId, uint32(bytes)));
    }
    this.#readOf.clear();
  }

  #windowOf(streamId: number): number {
    return this.#streamWindows.get(streamId) ?? this.#initialWindow;
  }

  #take({ type, flags, streamId, payload }: RawFrame): void {
    const length = payload.length;
    if (type === 0 && length > 0) {
      const window = this.#windowOf(streamId) - length;
      this.connectionWindow -= length;
      if (window < 0) this.fault = `stream ${streamId} got ${-window} bytes too many`;
      if (this.connectionWindow < 0)
        this.fault = `the connection got ${-this.connectionWindow} bytes too many`;
      this.bytesOf.set(streamId, (this.bytesOf.get(streamId) ?? 0) + length);
      this.#streamWindows.set(streamId, window);
      this.#read += length;
      this.#readOf.set(streamId, (this.#readOf.get(streamId) ?? 0) + length);
      this.onData();
    }
    if (type <= 1 && (flags & END_STREAM) !== 0) this.ended.add(streamId);
  }
}

function toMessage(bytes: number): Buffer {
  const message = Buffer.alloc(5 + bytes);
  message.writeUInt32BE(bytes, 1);
  return message;
}

function letGo(held: (() => void)[]): void {
  for (const release of held.splice(0)) release();
}

/** What arrives of an answer: prefix and bytes of each message. */
function expectedBytes({ bytes, how }: PlannedCall): number {
  return how === 'drop' ? 0 : how === 'double' ? 2 * (bytes + 5) : bytes + 5;
}

/** What is held is let go by these functions: `late` while others are under way, `hold` after that. */
type Held = Record<'hold' | 'late', (() => void)[]>;

/** Handles the n-th call as planned. */
function interceptAsPlanned(plan: readonly PlannedCall[], held: Held): CallInterceptor {
  let next = 0;
  return () => {
    const { how } = plan[next++]!;
    if (how === 'pass') return undefined;
    let ended = false;
    const createHandler = (call: CallControl): CallHandler => ({
      onHeaders: (side, headers) => {
        if (how === 'tap' || side === 'request') return;
        if (how === 'hold' || how === 'late') {
          held[how].push(() => call.response.sendHeaders(headers.fields, headers.endStream));
        } else call.response.forwardHeaders(headers);
      },
      onMessage: (side, message) => {
        if (side === 'request' || how === 'tap' || how === 'drop') return;
        const send = (): void => {
          call.response.send(message);
          if (how === 'double') call.response.send(GrpcMessage.of(message.payload));
        };
        if (how === 'hold' || how === 'late') held[how].push(send);
        else send();
      },
      onEnd: () => (ended = true),
      onReset: () => undefined,
      onClosed: () => expect(ended).toBe(true),
    });
    return { request: 'pass', response: how === 'tap' ? 'tap' : 'take', createHandler };
  };
}

const plannedCall = fc.record<PlannedCall>({
  bytes: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 120_000 })),
  how: fc.constantFrom('pass', 'tap', 'forward', 'hold', 'late', 'drop', 'double'),
});

describe('flow control round answers that are held, dropped and doubled', () => {
  it('never gives a client more than it has room for, starves nobody, and comes out even', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plannedCall, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 3_000, max: 100_000 }),
        fc.integer({ min: 0, max: 20 }),
        async (plan, initialWindow, lateAfterFrames) => {
          const held: Held = { hold: [], late: [] };
          await using harness = await RelayHarness.start(interceptAsPlanned(plan, held));
          const { client, server } = await harness.connect();
          const strict = new StrictClient(client, initialWindow);
          const settings = Buffer.alloc(6);
          settings.writeUInt16BE(4, 0);
          settings.writeUInt32BE(initialWindow, 2);
          client.send(RAW_PREFACE, rawFrame('SETTINGS', 0, settings));
          const greedy = new GreedyServer(server, initialWindow);
          await untilTrue(() => client.of('SETTINGS').length > 0);
          const streams = plan.map((_, at) => 2 * at + 1);
          const block = encodeStateless([[':path', '/service/Method']]);
          for (const id of streams) client.send(rawFrame('HEADERS', id, block, END_HEADERS | END_STREAM));
          await untilTrue(() => server.of('HEADERS').length === plan.length);
          for (const [at, { bytes }] of plan.entries()) greedy.answer(streams[at]!, bytes);
          greedy.flush();
          // All that nobody holds arrives, however much is held.
          const isHeld = (at: number): boolean => ['hold', 'late'].includes(plan[at]!.how);
          strict.onData = () => {
            if (client.of('DATA').length >= lateAfterFrames) letGo(held.late);
          };
          await untilTrue(() => {
            strict.readAll();
            return (
              streams.every((id, at) => isHeld(at) || strict.ended.has(id)) || strict.fault !== undefined
            );
          });
          // Holding lets go of what comes later, too.
          await untilTrue(() => {
            for (const how of ['late', 'hold'] as const) letGo(held[how]);
            strict.readAll();
            return streams.every((id) => strict.ended.has(id)) || strict.fault !== undefined;
          });
          expect(strict.fault).toBeUndefined();
          for (const [at, id] of streams.entries()) {
            expect(strict.bytesOf.get(id) ?? 0).toBe(expectedBytes(plan[at]!));
          }
          await untilTrue(() => {
            strict.readAll();
            return greedy.connectionWindow === FIRST_WINDOW;
          });
          expect(strict.connectionWindow).toBe(FIRST_WINDOW);
        },
      ),
      { numRuns: 25 },
    );
  });
});
