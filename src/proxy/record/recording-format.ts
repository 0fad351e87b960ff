/**
 * The format of recordings: what docs/reference/recordings.md says, as code.
 *
 * ```
 * file  = preamble block*
 * block = header (16 bytes: mark, packed length, length, CRC-32 of what is packed) and frames, deflated
 * frame = kind (1 byte), length (varint), body
 * ```
 *
 * Each block is whole by itself: a file that ends anywhere can be read up to its last whole block, and read from any
 * block on. Messages stand in frames of their own, each once, and are referred to by their number in the file.
 *
 * @module
 */
import { promisify } from 'node:util';
import { crc32, deflateRaw, inflateRaw } from 'node:zlib';
import { encodeVarint } from '#base/wire/protobuf-fields.js';
import { type RedactionRules } from './redaction/redaction-rules.js';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** The first bytes of every recording: not text, with line ends that careless copies change. */
const MAGIC = Buffer.from('\x89PLREC\r\n', 'latin1');
/** Stands behind the first bytes; a reader refuses a higher one. */
export const FORMAT_VERSION = 1;
export const PREAMBLE_BYTES = 16;
const BLOCK_MARK = 0x504c424b;
export const BLOCK_HEADER_BYTES = 16;

/** A message that is larger is not recorded, only that it was there: gRPC's usual limit is 16 MiB. */
export const LARGEST_MESSAGE = 16 * 2 ** 20;
/** What a block may hold: one such message and its frame, and the small ones before it. */
export const LARGEST_BLOCK = LARGEST_MESSAGE + 2 ** 20;

/** What a file holds at most, since whoever reads it holds all of them in memory; one that has as many is full. */
export const MAX_CALLS = 4_000_000;
/** Of all calls together; events are messages, too. */
export const MAX_MESSAGES = 8_000_000;

/** How much of it there may be in one file. */
export interface RecordingLimits {
  readonly calls: number;
  readonly messages: number;
}

/** The default limits of a recorder and a reader. */
export const RECORDING_LIMITS: RecordingLimits = { calls: MAX_CALLS, messages: MAX_MESSAGES };

/** Kinds of frames. Numbers are never used again for another. */
export const FrameKind = { META: 1, BLOB: 2, BEGIN: 3, MESSAGE: 4, END: 5, LOST: 6, CLOSE: 7 } as const;
/** One of the numbers of {@link FrameKind}. */
export type FrameKind = (typeof FrameKind)[keyof typeof FrameKind];

/** Who recorded what, how: the first frame. */
export interface MetaFrame {
  readonly podloop: string;
  /** RFC 3339. Times in other frames are microseconds since then. */
  readonly startedAt: string;
  /** `relay`: what clients asked through the recorder; `observe`: what the recorder asked by itself. */
  readonly mode: 'relay' | 'observe';
  readonly upstream: string;
  readonly rules: RedactionRules;
  /** How many files of the same recording were before it. */
  readonly part: number;
}

/** A call begins; its request is complete. */
export interface BeginFrame {
  readonly call: number;
  /** Negative for calls that were open when this part began. */
  readonly at: number;
  /** `/runtime.v1.RuntimeService/ListContainers` */
  readonly method: string;
  readonly connection: number;
  /** Of the blob; absent when the request could not be read or was too large. */
  readonly request?: number;
  /** What its client gave it, as in the header `grpc-timeout`. */
  readonly timeout?: string;
}

/** A message of an answer, or an event of a stream. */
export interface MessageFrame {
  readonly call: number;
  readonly at: number;
  /** Absent when it could not be read or was too large. */
  readonly blob?: number;
}

/** How a call ended: with a status, or because one side gave it up. */
export interface EndFrame {
  readonly call: number;
  readonly at: number;
  readonly code?: number;
  readonly message?: string;
  readonly by?: 'client' | 'runtime' | 'connection';
  /** So many messages of its answer are not in this file: they were lost, or are in the part before. */
  readonly missing?: number;
}

/** So much was not recorded at that time, since the disk was too slow. */
export interface LostFrame {
  readonly at: number;
  readonly calls: number;
  readonly messages: number;
}

/** The recording was ended, and not cut off: the last frame. */
export interface CloseFrame {
  /** Of one that was full, when the last was written that fitted. */
  readonly at: number;
  readonly reason: 'stopped' | 'full' | 'rolled';
  readonly calls: number;
  readonly redacted: number;
  readonly unknownFields: number;
  readonly unreadable: number;
}

/** A frame as its bytes. */
export function encodeFrame(kind: FrameKind, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), encodeVarint(body.length), body]);
}

/** A frame that is JSON. */
export function encodeJsonFrame(kind: FrameKind, body: object): Buffer {
  return encodeFrame(kind, Buffer.from(JSON.stringify(body)));
}

/** What a recording begins with. */
export function encodePreamble(): Buffer {
  const preamble = Buffer.alloc(PREAMBLE_BYTES);
  MAGIC.copy(preamble);
  preamble.writeUInt16BE(FORMAT_VERSION, MAGIC.length);
  preamble.writeUInt32BE(crc32(preamble.subarray(0, 12)), 12);
  return preamble;
}

/** The version of a recording, by its first bytes; undefined when they are not those of one. */
export function decodePreamble(bytes: Buffer): number | undefined {
  if (bytes.length < PREAMBLE_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (crc32(bytes.subarray(0, 12)) !== bytes.readUInt32BE(12)) return undefined;
  return bytes.readUInt16BE(MAGIC.length);
}

/** Frames as a block, packed outside of the event loop. */
export async function encodeBlock(frames: Buffer): Promise<Buffer> {
  const packed = await deflate(frames, { level: 6 });
  const header = Buffer.alloc(BLOCK_HEADER_BYTES);
  header.writeUInt32BE(BLOCK_MARK, 0);
  header.writeUInt32BE(packed.length, 4);
  header.writeUInt32BE(frames.length, 8);
  header.writeUInt32BE(crc32(packed), 12);
  return Buffer.concat([header, packed]);
}

/** What the header of a block says. */
export interface BlockHeader {
  readonly packedLength: number;
  readonly length: number;
  readonly checksum: number;
}

/** Throws RangeError when the bytes are not the header of a block that could be. */
export function decodeBlockHeader(bytes: Buffer): BlockHeader {
  if (bytes.readUInt32BE(0) !== BLOCK_MARK) throw new RangeError('no block begins here');
  const packedLength = bytes.readUInt32BE(4);
  const length = bytes.readUInt32BE(8);
  if (length > LARGEST_BLOCK || packedLength > LARGEST_BLOCK) {
    throw new RangeError(
      `a block of ${Math.max(length, packedLength)} bytes; at most ${LARGEST_BLOCK} are possible`,
    );
  }
  return { packedLength, length, checksum: bytes.readUInt32BE(12) };
}

/** The frames of a block. Throws RangeError when they are not what the header says. */
export async function decodeBlock(header: BlockHeader, packed: Buffer): Promise<Buffer> {
  if (crc32(packed) !== header.checksum) throw new RangeError('the checksum of a block is wrong');
  let frames: Buffer;
  try {
    frames = await inflate(packed, { maxOutputLength: Math.max(1, header.length) });
  } catch (error) {
    throw new RangeError('a block cannot be unpacked to the length that it names', { cause: error });
  }
  if (frames.length !== header.length) throw new RangeError('a block is shorter than it says');
  return frames;
}
