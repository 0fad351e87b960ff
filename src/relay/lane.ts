import { type CallHeaders, type FieldsToSend, type SideMode, type SideName } from './call-handler.js';
import { type CallSide, type SideCarrier } from './call-side.js';
import { DataPadding } from './data-padding.js';
import {
  encodeWindowUpdate,
  FIRST_WINDOW_BYTES,
  FrameFlag,
  FrameType,
  readInitialWindow,
  readUint31,
} from './frame-format.js';
import { type DataTreatment, type FrameJudge, FrameScanner } from './frame-scanner.js';
import { HeaderBlocks } from './header-blocks.js';
import { type HeaderUnit } from './header-unit.js';
import { type DecodedHeaders } from './hpack/hpack-decoder.js';
import { takeFrames } from './take-frames.js';

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

/**
 * One direction of a connection: from its source to its sink.
 *
 * Flow control. As long as everything passes, both ends settle it among themselves. Bytes that are taken in count
 * against the source's room, so the source is given that room back at once; bytes that are sent by us use room of the
 * sink that the source takes for its own, so the room that the sink gives back for them is kept from the source
 * (`#owed`). In between the source may send more than the sink has room for: such a frame waits (`stall`). Room comes
 * when the sink has read what it has, with every library by the time that half of the window is read; so no frame may be
 * larger than that, and none is unless a sink asks for frames larger than what everybody has to take.
 * Room comes when the sink has read what it has, as all do by the time that they have read half of their window; so no
 * frame is to be larger than that, and none is unless a sink asks for larger frames than everybody has to take.
 */
export class Lane implements FrameJudge, SideCarrier {
  readonly scanner: FrameScanner;
  /** The other direction of the same connection; set before the first byte. */
  opposite!: Lane;
  readonly #options: LaneOptions;
  readonly #blocks = new HeaderBlocks();
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
  #padding: DataPadding | undefined;

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
    return this.#blocks.isTranslating || this.#owed > 0 || this.#waiting.size > 0;
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
    if (side !== undefined && mode !== 'take' && mode !== 'discard') side.hasSentData = true;
    if (side === undefined || mode === 'pass') {
      if (call !== undefined && (flags & FrameFlag.END_STREAM) !== 0) call.noteSourceEnded(this.name);
      return 'pass';
    }
    side.touched = true;
    if (mode === 'take' && (flags & FrameFlag.END_STREAM) === 0) {
      side.creditDue += length;
      this.#creditDue.add(side);
    }
    this.#dataSide = side;
    this.#dataCall = call;
    this.#dataEnds = (flags & FrameFlag.END_STREAM) !== 0;
    this.#padding = (flags & FrameFlag.PADDED) !== 0 ? new DataPadding(length) : undefined;
    return mode === 'tap' ? 'tap' : 'take';
  }

  onDataBytes(bytes: Buffer): void {
    const side = this.#dataSide!;
    const payload = this.#padding?.strip(bytes) ?? bytes;
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
    if (this.#blocks.isTranslating || current?.headers !== headers || current.forwarded) return false;
    current.forwarded = true;
    this.scanner.inject(current.unit.frames);
    return true;
  }

  pump(side: CallSide): void {
    // What becomes of a frame goes out at its end: with it, if it is the last, goes that it is.
    if (side === this.#dataSide) return;
    const encode = (fields: FieldsToSend): Buffer => this.#blocks.encode(fields);
    const { frames, dataBytes } = takeFrames(side, this.#window, encode);
    this.#window -= dataBytes;
    this.#owed += dataBytes;
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
    if (!unit.endStream) return this.#blocks.pass(unit, decoded);
    // A call without a message ends with its headers; what follows from that has to come behind them.
    const passed = this.#blocks.pass(unit, decoded, call.request.mode === 'take');
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
