import { type CallHeaders, type FieldsToSend, type SideName } from './call-handler.js';
import { type CallSide, type SideCarrier } from './call-side.js';
import { encodeWindowUpdate, FrameFlag, FrameType, readUint31 } from './frame-format.js';
import { type DataTreatment, type FrameHandler, FrameScanner } from './frame-scanner.js';
import { HeaderBlocks } from './header-blocks.js';
import { type HeaderUnit } from './header-unit.js';
import { type DecodedHeaders } from './hpack/hpack-decoder.js';
import { type DirectionCall } from './direction-call.js';
import { SendWindow } from './send-window.js';
import { takeFrames } from './take-frames.js';

/** What a {@link FrameDirection} needs of its connection. */
export interface FrameDirectionOptions {
  readonly name: SideName;
  /** Sends these on to the sink, in this order. */
  readonly write: (buffers: readonly Buffer[]) => void;
  readonly findCall: (streamId: number) => DirectionCall | undefined;
  readonly calls: () => Iterable<DirectionCall>;
  /** Headers that begin a call; undefined when no handler wants it. Only the client begins calls. */
  readonly beginCall: (streamId: number, headers: CallHeaders) => DirectionCall | undefined;
  /** A stalled frame can go on: let the source flow again. */
  readonly onFlowing: () => void;
}

/** The frame of DATA that is passing. */
interface DataFrame {
  readonly side: CallSide;
  readonly call: DirectionCall;
  readonly endsStream: boolean;
  readonly padding: DataPadding | undefined;
}

/** One direction of a connection: from its source to its sink. {@link SendWindow} says how flow control goes. */
export class FrameDirection implements FrameHandler, SideCarrier {
  readonly scanner: FrameScanner;
  /** The other direction of the same connection; set before the first byte. */
  opposite!: FrameDirection;
  readonly #options: FrameDirectionOptions;
  readonly #blocks = new HeaderBlocks();
  /** The block that is being decided on, and whether it went on as it came. */
  #current: { readonly headers: CallHeaders; readonly unit: HeaderUnit; forwarded: boolean } | undefined;
  readonly #room = new SendWindow();
  /** Bytes taken in during this scan. */
  #taken = 0;
  readonly #creditDue = new Set<CallSide>();
  /** Sides that wait for room, in the order in which they began to. */
  readonly #waiting = new Set<CallSide>();
  #data: DataFrame | undefined;
  #kept = false;

  constructor(options: FrameDirectionOptions) {
    this.#options = options;
    const { name, write } = options;
    this.scanner = new FrameScanner({ handler: this, write, expectPreface: name === 'request' });
  }

  get name(): SideName {
    return this.#options.name;
  }

  /** Whether the bytes on it are not those of the source any more, so that they can never be again. */
  get isAltered(): boolean {
    return this.#blocks.isTranslating || this.#room.isShared || this.#waiting.size > 0;
  }

  get initialWindow(): number {
    return this.#room.initialWindow;
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
    const goesOn = mode !== 'take' && mode !== 'discard';
    if (goesOn) {
      if (!this.#room.fits(length)) return 'stall';
      this.#room.notePassed(length);
      if (side !== undefined) side.hasSentData = true;
    } else {
      this.#taken += length;
    }
    const endsStream = (flags & FrameFlag.END_STREAM) !== 0;
    if (call === undefined || side === undefined || mode === 'pass') {
      if (endsStream) call?.noteSourceEnded(this.name);
      return 'pass';
    }
    side.touched = true;
    if (mode === 'take' && !endsStream) {
      side.creditDue += length;
      this.#creditDue.add(side);
    }
    const padding = (flags & FrameFlag.PADDED) !== 0 ? new DataPadding(length) : undefined;
    this.#data = { side, call, endsStream, padding };
    return goesOn ? 'tap' : 'take';
  }

  onDataBytes(bytes: Buffer): void {
    const { side, call, padding } = this.#data!;
    const payload = padding?.strip(bytes) ?? bytes;
    if (side.mode === 'discard' || side.mode === 'pass' || payload.length === 0) return;
    if (side.mode !== 'scan') this.#kept = true;
    call.noteBytes(this.name, payload);
  }

  /** Whether something may still hold bytes that came since this was asked last. */
  forgetKept(): boolean {
    const kept = this.#kept || this.scanner.holdsBytes;
    this.#kept = false;
    return kept;
  }

  onDataEnd(): void {
    const { side, call, endsStream } = this.#data!;
    if (endsStream) call.noteSourceEnded(this.name);
    this.#data = undefined;
    this.pump(side);
  }

  onHeaders(unit: HeaderUnit): 'pass' | readonly Buffer[] {
    const decoded = this.#blocks.decode(unit);
    const headers = { fields: decoded.fields, endStream: unit.endStream };
    const known = this.#options.findCall(unit.streamId);
    if (known === undefined || unit.promised !== undefined) {
      const begun = unit.promised === undefined ? this.#options.beginCall(unit.streamId, headers) : undefined;
      if (begun === undefined) return this.#blocks.pass(unit, decoded);
      return this.#beginRequest(begun, unit, decoded);
    }
    const side = known.side(this.name);
    side.touched = true;
    if (side.mode === 'take') return this.#takeHeaders(known, unit, decoded, headers);
    if (side.mode === 'discard') {
      this.#blocks.noteAltered(decoded);
      if (unit.endStream) known.noteSourceEnded(this.name);
      return [];
    }
    const verdict = this.#blocks.pass(unit, decoded);
    side.headersSent = true;
    if (side.mode !== 'pass') known.noteHeaders(this.name, headers);
    if (unit.endStream) known.noteSourceEnded(this.name);
    return verdict;
  }

  onControl(type: number, flags: number, streamId: number, payload: Buffer): 'pass' | readonly Buffer[] {
    if (type === FrameType.WINDOW_UPDATE) return this.#onRoom(streamId, readUint31(payload, 0));
    if (type === FrameType.RST_STREAM) {
      const call = this.#options.findCall(streamId);
      return call === undefined || call.noteReset(this.name, payload.readUInt32BE(0)) ? 'pass' : [];
    }
    if ((flags & FrameFlag.ACK) === 0) this.opposite.#room.announce(payload);
    // Confirmed by the source: from here on it, and so do we, keep to what the sink had asked for.
    else this.#growWindows(this.#room.confirm());
    return 'pass';
  }

  tryForwardRaw(headers: CallHeaders): boolean {
    const current = this.#current;
    if (this.#blocks.isTranslating || current?.headers !== headers || current.forwarded) return false;
    current.forwarded = true;
    this.scanner.inject(current.unit.frames);
    return true;
  }

  pump(side: CallSide): void {
    // What becomes of a frame goes out at its end: with it, if it is the last, goes that it is.
    if (side === this.#data?.side) return;
    const encode = (fields: FieldsToSend): Buffer => this.#blocks.encode(fields);
    const { frames, dataBytes } = takeFrames(side, this.#room.bytes, encode);
    this.#room.noteSent(dataBytes);
    if (side.queue.length === 0 && frames.length === 0) return;
    if (side.queue.length > 0) this.#waiting.add(side);
    else this.#waiting.delete(side);
    if (frames.length > 0) this.scanner.inject(...frames);
    if (side.sinkEnded) this.#options.findCall(side.streamId)?.noteSinkEnded(this.name);
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

  /** The sink gave room for this many bytes; returns how many of them are the source's. */
  #gainRoom(bytes: number): number {
    const passed = this.#room.gain(bytes);
    for (const side of [...this.#waiting]) {
      if (this.#room.bytes <= 0) break;
      this.pump(side);
    }
    if (this.scanner.stalled) {
      const flows = this.scanner.resume();
      this.#settleCredit();
      if (flows) this.#options.onFlowing();
    }
    return passed;
  }

  #growWindows(bytes: number): void {
    if (bytes === 0) return;
    for (const call of this.#options.calls()) call.side(this.name).window += bytes;
    for (const side of [...this.#waiting]) this.pump(side);
  }

  #beginRequest(call: DirectionCall, unit: HeaderUnit, decoded: DecodedHeaders): 'pass' | readonly Buffer[] {
    // Never held back: the server takes a stream that begins after a later one for an error.
    if (!unit.endStream) return this.#blocks.pass(unit, decoded);
    // A call without a message ends with its headers; what follows from that has to come behind them.
    const passed = this.#blocks.pass(unit, decoded, call.request.mode === 'take');
    this.scanner.inject(...(passed === 'pass' ? [unit.frames] : passed));
    call.noteSourceEnded('request');
    return [];
  }

  #takeHeaders(
    call: DirectionCall,
    unit: HeaderUnit,
    decoded: DecodedHeaders,
    headers: CallHeaders,
  ): readonly Buffer[] {
    const current = { headers, unit, forwarded: false };
    if (this.#blocks.isTranslating) this.#blocks.noteAltered(decoded);
    this.#current = current;
    call.noteHeaders(this.name, headers);
    if (unit.endStream) call.noteSourceEnded(this.name);
    this.#current = undefined;
    if (!this.#blocks.isTranslating && !current.forwarded) this.#blocks.noteAltered(decoded);
    return [];
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

/** The padding of one frame of DATA that comes in pieces: its length stands in front, the padding itself behind. */
class DataPadding {
  readonly #payloadLength: number;
  /** Undefined until the first byte has come. */
  #dataLeft: number | undefined;

  constructor(payloadLength: number) {
    this.#payloadLength = payloadLength;
  }

  /** What is data in the next piece, which is not empty. */
  strip(piece: Buffer): Buffer {
    let data = piece;
    if (this.#dataLeft === undefined) {
      this.#dataLeft = Math.max(0, this.#payloadLength - 1 - piece[0]!);
      data = piece.subarray(1);
    }
    const part = data.subarray(0, this.#dataLeft);
    this.#dataLeft -= part.length;
    return part;
  }
}
