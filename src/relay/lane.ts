import { type CallHeaders, type FieldsToSend, type SideMode, type SideName } from './call-handler.js';
import { type CallSide, type SideCarrier } from './call-side.js';
import {
  encodeBlockFrames,
  encodeFrameHeader,
  encodeHeaderFrames,
  encodeReset,
  encodeWindowUpdate,
  FIRST_WINDOW_BYTES,
  FrameFlag,
  FrameType,
  LARGEST_PAYLOAD_BYTES,
  readInitialWindow,
  readUint31,
} from './frame-format.js';
import { type DataTreatment, type FrameJudge, FrameScanner } from './frame-scanner.js';
import { type HeaderUnit } from './header-unit.js';
import { encodeStateless } from './hpack/encode-stateless.js';
import { type DecodedHeaders, HpackDecoder } from './hpack/hpack-decoder.js';

/** What a {@link Lane} tells a call. */
export interface LaneCall {
  readonly request: { readonly mode: SideMode | 'discard' };
  side(name: SideName): CallSide;
  noteHeaders(name: SideName, headers: CallHeaders): void;
  /** The next bytes of its messages. */
  noteBytes(name: SideName, payload: Buffer): void;
  noteSourceEnded(name: SideName): void;
  noteSinkEnded(name: SideName): void;
  /** One end resets the stream; returns whether the other is to hear of it. */
  noteReset(name: SideName, code: number): boolean;
}

/** What a {@link Lane} needs of its connection. */
export interface LaneOptions {
  readonly name: SideName;
  /** Sends these on to the sink, in this order. */
  readonly write: (buffers: readonly Buffer[]) => void;
  readonly findCall: (streamId: number) => LaneCall | undefined;
  readonly calls: () => Iterable<LaneCall>;
  /** Headers that begin a call; undefined when nobody looks at it. Only the client begins calls. */
  readonly beginCall: (streamId: number, headers: CallHeaders) => LaneCall | undefined;
  /** A stalled frame can go on: let the source flow again. */
  readonly onFlowing: () => void;
}

/** The pad length of the DATA frame that is being read, until it is known. */
interface Padding {
  readonly known: boolean;
  left: number;
}

/**
 * One direction of a connection: from its source to its sink.
 *
 * Flow control. As long as everything passes, both ends settle it among themselves. Bytes that are taken in count
 * against the source's room, so the source is given that room back at once; bytes that are sent by us use room of the
 * sink that the source takes for its own, so the room that the sink gives back for them is kept from the source
 * (`#owed`). In between the source may send more than the sink has room for: such a frame waits (`stall`).
 *
 * Headers. Blocks depend on those before them. As long as each goes on in its place they go on as they are; from the
 * first one on that changed the sender's table and did not go on in its place, all are written anew, in a way that
 * needs no table.
 */
export class Lane implements FrameJudge, SideCarrier {
  readonly scanner: FrameScanner;
  /** The other direction of the same connection; set before the first byte. */
  opposite!: Lane;
  readonly #options: LaneOptions;
  readonly #decoder = new HpackDecoder();
  #translating = false;
  /** Limits of the table that the sink has not been told of. */
  #tableSizes: number[] = [];
  /** The block that is being decided on, and whether it went on as it came. */
  #current: { readonly headers: CallHeaders; readonly unit: HeaderUnit; forwarded: boolean } | undefined;
  /** The room that the sink really has, for all streams together. */
  #window = FIRST_WINDOW_BYTES;
  #owed = 0;
  /** Bytes taken in during this scan. */
  #taken = 0;
  readonly #creditDue = new Set<CallSide>();
  /** Sides that wait for room, in the order in which they began to. */
  readonly #waiting = new Set<CallSide>();
  /** The source's settings that the sink has not confirmed: initial windows. */
  readonly #settingsSent: (number | undefined)[] = [];
  #initialWindow = FIRST_WINDOW_BYTES;
  #dataSide: CallSide | undefined;
  #dataCall: LaneCall | undefined;
  #dataEnds = false;
  #padding: Padding | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    const { name, write } = options;
    this.scanner = new FrameScanner({ judge: this, write, expectPreface: name === 'request' });
  }

  get name(): SideName {
    return this.#options.name;
  }

  /** Whether the bytes on it are not those of the source any more, so that they can never be again. */
  get isAltered(): boolean {
    return this.#translating || this.#owed > 0 || this.#waiting.size > 0;
  }

  get initialWindow(): number {
    return this.#initialWindow;
  }

  /** Takes what came from the source. Throws ProtocolError or HpackError. */
  push(chunk: Buffer): void {
    this.scanner.push(chunk);
    this.#settleCredit();
  }

  onData(streamId: number, length: number, flags: number): DataTreatment {
    const call = this.#options.findCall(streamId);
    const side = call?.side(this.name);
    const mode = side?.mode ?? 'pass';
    if (mode === 'pass' || mode === 'tap') {
      // Without our doing a source that sends too much has to answer for it itself.
      if (this.#owed > 0 && this.#window < length) return 'stall';
      this.#window -= length;
    } else {
      this.#taken += length;
    }
    if (side === undefined || mode === 'pass') {
      if (call !== undefined && (flags & FrameFlag.END_STREAM) !== 0) call.noteSourceEnded(this.name);
      return 'pass';
    }
    side.touched = true;
    if (mode !== 'tap' && (flags & FrameFlag.END_STREAM) === 0) {
      side.creditDue += length;
      this.#creditDue.add(side);
    }
    this.#dataSide = side;
    this.#dataCall = call;
    this.#dataEnds = (flags & FrameFlag.END_STREAM) !== 0;
    this.#padding = (flags & FrameFlag.PADDED) !== 0 ? { known: false, left: length } : undefined;
    return mode === 'tap' ? 'tap' : 'take';
  }

  onDataBytes(bytes: Buffer): void {
    const side = this.#dataSide!;
    const payload = this.#padding === undefined ? bytes : this.#withoutPadding(bytes);
    if (side.mode === 'discard' || side.mode === 'pass' || payload.length === 0) return;
    this.#dataCall!.noteBytes(this.name, payload);
  }

  onDataEnd(): void {
    const side = this.#dataSide!;
    if (this.#dataEnds) this.#dataCall!.noteSourceEnded(this.name);
    this.#dataSide = undefined;
    this.pump(side);
  }

  onHeaders(unit: HeaderUnit): 'pass' | readonly Buffer[] {
    const decoded = this.#decoder.decode(unit.block);
    const headers = { fields: decoded.fields, endStream: unit.endStream };
    const known = this.#options.findCall(unit.streamId);
    if (known === undefined || unit.promised !== undefined) {
      const begun = unit.promised === undefined ? this.#options.beginCall(unit.streamId, headers) : undefined;
      if (begun === undefined) return this.#passHeaders(unit, decoded);
      return this.#beginRequest(begun, unit, decoded);
    }
    const side = known.side(this.name);
    side.touched = true;
    if (side.mode === 'take') return this.#takeHeaders(known, unit, decoded, headers);
    if (side.mode === 'discard') {
      this.#noteAltered(decoded);
      if (unit.endStream) known.noteSourceEnded(this.name);
      return [];
    }
    const verdict = this.#passHeaders(unit, decoded);
    side.headersSent = true;
    if (side.mode === 'tap') known.noteHeaders(this.name, headers);
    if (unit.endStream) known.noteSourceEnded(this.name);
    return verdict;
  }

  onControl(type: number, flags: number, streamId: number, payload: Buffer): 'pass' | readonly Buffer[] {
    if (type === FrameType.WINDOW_UPDATE) return this.#onRoom(streamId, readUint31(payload, 0));
    if (type === FrameType.RST_STREAM) {
      const call = this.#options.findCall(streamId);
      return call === undefined || call.noteReset(this.name, payload.readUInt32BE(0)) ? 'pass' : [];
    }
    if ((flags & FrameFlag.ACK) === 0) this.#settingsSent.push(readInitialWindow(payload));
    // Confirmed by the source: from here on it, and so do we, keep to what the sink had asked for.
    else this.#applySettings(this.opposite.#settingsSent.shift());
    return 'pass';
  }

  tryForwardRaw(headers: CallHeaders): boolean {
    const current = this.#current;
    if (this.#translating || current?.headers !== headers || current.forwarded) return false;
    current.forwarded = true;
    this.scanner.inject(current.unit.frames);
    return true;
  }

  pump(side: CallSide): void {
    // What becomes of a frame goes out at its end: with it, if it is the last, goes that it is.
    if (side === this.#dataSide) return;
    const frames: Buffer[] = [];
    for (let item = side.queue[0]; item !== undefined; item = side.queue[0]) {
      if (item.kind === 'data') {
        const parts = this.#takeData(side);
        if (parts === undefined) break;
        frames.push(...parts);
        continue;
      }
      side.queue.shift();
      if (item.kind === 'headers') {
        frames.push(encodeHeaderFrames(side.streamId, this.#encode(item.fields), item.endStream));
        side.headersSent = true;
        side.sinkEnded ||= item.endStream;
      } else if (item.kind === 'end') {
        frames.push(encodeFrameHeader(FrameType.DATA, FrameFlag.END_STREAM, side.streamId, 0));
        side.sinkEnded = true;
      } else {
        frames.push(encodeReset(side.streamId, item.code));
        side.sinkEnded = true;
      }
    }
    if (side.queue.length === 0 && frames.length === 0) return;
    if (side.queue.length > 0) this.#waiting.add(side);
    else this.#waiting.delete(side);
    if (frames.length > 0) this.scanner.inject(...frames);
    if (side.sinkEnded) this.#options.findCall(side.streamId)?.noteSinkEnded(this.name);
  }

  /** The next frame of DATA, as large as it may be; undefined when there is no room. */
  #takeData(side: CallSide): Buffer[] | undefined {
    const room = Math.min(LARGEST_PAYLOAD_BYTES, this.#window, side.window);
    if (room <= 0) return undefined;
    const parts: Buffer[] = [];
    let length = 0;
    for (let item = side.queue[0]; item?.kind === 'data' && length < room; item = side.queue[0]) {
      const part = item.bytes.subarray(0, room - length);
      parts.push(part);
      length += part.length;
      item.bytes = item.bytes.subarray(part.length);
      if (item.bytes.length === 0) side.queue.shift();
    }
    const ends = side.queue[0]?.kind === 'end';
    if (ends) {
      side.queue.shift();
      side.sinkEnded = true;
    }
    this.#window -= length;
    this.#owed += length;
    side.noteSent(length);
    const flags = ends ? FrameFlag.END_STREAM : 0;
    return [encodeFrameHeader(FrameType.DATA, flags, side.streamId, length), ...parts];
  }

  credit(side: CallSide): void {
    const due = side.creditDue;
    side.creditDue = 0;
    if (due > 0 && !side.sourceEnded) this.opposite.scanner.inject(encodeWindowUpdate(side.streamId, due));
  }

  drop(side: CallSide): void {
    this.#waiting.delete(side);
    this.#creditDue.delete(side);
  }

  returnRoom(side: CallSide): void {
    if (side.updatesKept > 0) {
      this.opposite.scanner.inject(encodeWindowUpdate(side.streamId, side.updatesKept));
      side.updatesKept = 0;
    }
  }

  /** The source of this lane gives room, for what flows in the opposite one. */
  #onRoom(streamId: number, bytes: number): 'pass' | readonly Buffer[] {
    const { opposite } = this;
    if (streamId === 0) {
      const passed = opposite.#gainRoom(bytes);
      if (passed === bytes) return 'pass';
      return passed > 0 ? [encodeWindowUpdate(0, passed)] : [];
    }
    const side = this.#options.findCall(streamId)?.side(opposite.name);
    if (side === undefined || (side.mode !== 'take' && side.mode !== 'discard')) return 'pass';
    side.window += bytes;
    side.updatesKept += bytes;
    opposite.pump(side);
    return [];
  }

  /** The sink gave room for so many bytes; returns how many of them are the source's. */
  #gainRoom(bytes: number): number {
    this.#window += bytes;
    const kept = Math.min(bytes, this.#owed);
    this.#owed -= kept;
    for (const side of [...this.#waiting]) {
      if (this.#window <= 0) break;
      this.pump(side);
    }
    if (this.scanner.stalled) {
      const flows = this.scanner.resume();
      this.#settleCredit();
      if (flows) this.#options.onFlowing();
    }
    return bytes - kept;
  }

  #applySettings(initialWindow: number | undefined): void {
    if (initialWindow === undefined) return;
    const growth = initialWindow - this.#initialWindow;
    this.#initialWindow = initialWindow;
    for (const call of this.#options.calls()) call.side(this.name).window += growth;
    for (const side of [...this.#waiting]) this.pump(side);
  }

  #beginRequest(call: LaneCall, unit: HeaderUnit, decoded: DecodedHeaders): 'pass' | readonly Buffer[] {
    // Never held back: the server takes a stream that begins after a later one for an error.
    if (!unit.endStream) return this.#passHeaders(unit, decoded);
    // A call without a message ends with its headers; what follows from that has to come behind them.
    const passed = this.#passHeaders(unit, decoded, call.request.mode === 'take');
    this.scanner.inject(...(passed === 'pass' ? [unit.frames] : passed));
    call.noteSourceEnded('request');
    return [];
  }

  #takeHeaders(
    call: LaneCall,
    unit: HeaderUnit,
    decoded: DecodedHeaders,
    headers: CallHeaders,
  ): readonly Buffer[] {
    const current = { headers, unit, forwarded: false };
    if (this.#translating) this.#noteAltered(decoded);
    this.#current = current;
    call.noteHeaders(this.name, headers);
    if (unit.endStream) call.noteSourceEnded(this.name);
    this.#current = undefined;
    if (!this.#translating && !current.forwarded) this.#noteAltered(decoded);
    return [];
  }

  #passHeaders(unit: HeaderUnit, decoded: DecodedHeaders, withoutEnd = false): 'pass' | readonly Buffer[] {
    if (!this.#translating && !withoutEnd) return 'pass';
    let { block } = unit;
    if (this.#translating) {
      this.#noteAltered(decoded);
      block = this.#encode(decoded.fields);
    }
    if (unit.promised !== undefined) {
      const promise = Buffer.concat([unit.promised, block]);
      return [encodeBlockFrames(FrameType.PUSH_PROMISE, 0, unit.streamId, promise)];
    }
    return [encodeHeaderFrames(unit.streamId, block, unit.endStream && !withoutEnd)];
  }

  /** A block does not go on in its place as it came. */
  #noteAltered(decoded: DecodedHeaders): void {
    if (!decoded.leavesTableAlone) this.#translating = true;
    this.#tableSizes.push(...decoded.tableSizes);
  }

  #encode(fields: FieldsToSend): Buffer {
    const sizes = this.#tableSizes;
    this.#tableSizes = [];
    return encodeStateless(fields, sizes);
  }

  #withoutPadding(bytes: Buffer): Buffer {
    let data = bytes;
    if (!this.#padding!.known) {
      this.#padding = { known: true, left: this.#padding!.left - 1 - bytes[0]! };
      data = bytes.subarray(1);
    }
    const part = data.subarray(0, Math.max(0, this.#padding!.left));
    this.#padding!.left -= part.length;
    return part;
  }

  /** Gives the source room for what was taken in during this scan. */
  #settleCredit(): void {
    if (this.#taken > 0) {
      const bytes = this.#taken;
      this.#taken = 0;
      this.opposite.scanner.inject(encodeWindowUpdate(0, bytes));
    }
    for (const side of this.#creditDue) if (side.hasRoom) this.credit(side);
    this.#creditDue.clear();
  }
}
