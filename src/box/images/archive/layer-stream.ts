import { pipeline, Readable, Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { systemCodeOf } from '#base/errors/system-code.js';
import { unimplemented, refused } from '../../rpc-error.js';
import { StreamSource } from '#base/wire/tar/byte-source.js';
import { DigestCheck } from './digest.js';
import { type FileRegion, readRegion } from './file-region.js';
import { type Descriptor } from './oci-documents.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';
import { readTar } from '#base/wire/tar/tar-reader.js';
import { exhausted } from './unpack-limits.js';
import { MAX_WINDOW_BYTES, ZstdFrames } from './zstd-frames.js';

/** What bounds the reading of a layer. */
export interface LayerBounds {
  /** Of the archive once it is unpacked, with all that is in no file of it. */
  readonly mostBytes: number;
  /** Ends the reading, with its reason. */
  readonly signal: AbortSignal;
}

/** A layer as an image has it. */
export interface Layer {
  readonly descriptor: Descriptor;
  /** The digest of the archive once it is unpacked. */
  readonly diffId: string;
  /** Its bytes as they are stored, from the first. Throws the signal's reason when that aborts before they are there. */
  readonly read: (signal: AbortSignal) => AsyncIterable<Buffer>;
  /** Where these bytes are, once they are there; throws as `read` does. */
  readonly locate?: (signal: AbortSignal) => Promise<FileRegion>;
}

/** A layer that is read from where it lies. */
export function layerAt<L extends Pick<Layer, 'descriptor'>>(
  layer: L,
  locate: NonNullable<Layer['locate']>,
): L & Pick<Layer, 'read' | 'locate'> {
  const read = async function* (signal: AbortSignal): AsyncGenerator<Buffer> {
    yield* readRegion(await locate(signal));
  };
  return { ...layer, read, locate };
}

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Ways to compress that are recognized, to name them. */
const OTHERS: readonly (readonly [Buffer, string])[] = [
  [Buffer.from('BZh'), 'bzip2'],
  [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]), 'xz'],
];
const MAGIC_BYTES = 512;
const PIECE = 1024 * 1024;
/** Goes on in a thread while what came of it is written. */
const GUNZIP = { chunkSize: PIECE, readableHighWaterMark: 2 * PIECE };

/**
 * The entries of a layer. What is stored and what comes out of it are both held against their digests: after the last
 * entry it throws FAILED_PRECONDITION where one is wrong, so nothing may be built on the entries before the end. A
 * little that is compressed may be very much: throws RESOURCE_EXHAUSTED where it is more than the bounds say.
 */
export async function* readLayer(
  { descriptor, diffId, read }: Layer,
  bounds: LayerBounds,
): AsyncGenerator<TarEntry> {
  const { digest, size, mediaType } = descriptor;
  if (!/^application\/vnd\.(oci\.image\.layer|docker\.image\.rootfs)\./.test(mediaType))
    throw unimplemented(`the layer ${digest} is of a kind that is not supported: ${mediaType.slice(0, 100)}`);
  if (mediaType.includes('encrypted'))
    throw unimplemented(`the layer ${digest} is encrypted, which is not supported`);
  const stored = checked(read(bounds.signal), new DigestCheck(`the layer ${digest}`, digest, size));
  const archive = bounded(decompress(stored, digest, diffId), bounds);
  const source = new StreamSource(archive);
  try {
    yield* readTar(source);
    // What stands behind the end of the archive belongs to the digest.
    await source.skip(Number.MAX_SAFE_INTEGER);
  } finally {
    await archive.return(undefined);
  }
}

/** Reads all of a layer as it is stored. Throws FAILED_PRECONDITION unless its digest is right, and what `read` throws. */
export async function checkStored({ descriptor, read }: Layer, signal: AbortSignal): Promise<void> {
  const { digest, size } = descriptor;
  const check = new DigestCheck(`the layer ${digest}`, digest, size);
  for await (const chunk of read(signal)) {
    signal.throwIfAborted();
    check.add(chunk);
  }
  check.assert();
}

async function* bounded(
  chunks: AsyncGenerator<Buffer>,
  { mostBytes, signal }: LayerBounds,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > mostBytes) throw exhausted(`a layer is an archive of more than ${mostBytes} bytes`);
    yield chunk;
  }
}

async function* checked(chunks: AsyncIterable<Buffer>, check: DigestCheck): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    check.add(chunk);
    yield chunk;
  }
  check.assert();
}

/** The first bytes say how it is compressed; the media type is often wrong about that. */
async function* decompress(
  stored: AsyncGenerator<Buffer>,
  digest: string,
  diffId: string,
): AsyncGenerator<Buffer> {
  try {
    const first = await stored.next();
    if (first.done === true) return;
    const what = `the layer ${digest}`;
    const decoder = makeDecoder(first.value, what);
    const whole = startingWith(first.value, stored);
    const check = new DigestCheck(`the archive of layer ${digest}`, diffId);
    // What is stored is the archive itself where nothing decodes it; the same digest need not be computed twice.
    if (decoder === undefined) yield* digest === diffId ? whole : checked(whole, check);
    else yield* checked(decode(whole, decoder, what), check);
  } finally {
    // Also where it cannot be decompressed, or the reader stops at the first piece: else nobody would close the file.
    await stored.return(undefined);
  }
}

/**
 * Bytes without their compression by gzip or zstd, or as they are; `what` names them in errors. Closes what it reads from.
 * Throws UNKNOWN where they cannot be decompressed, or are compressed in another way.
 */
export async function* decompressed(stored: AsyncGenerator<Buffer>, what: string): AsyncGenerator<Buffer> {
  const source = new StreamSource(stored);
  try {
    // Streams come in pieces of any size.
    const first = await source.read(MAGIC_BYTES);
    const other = OTHERS.find(([magic]) => first.subarray(0, magic.length).equals(magic));
    if (other !== undefined) throw refused(`${what} is compressed by ${other[1]}: decompress it first`);
    const decoder = makeDecoder(first, what);
    const whole = startingWith(first, source.pieces(Number.MAX_SAFE_INTEGER));
    if (decoder === undefined) yield* whole;
    else yield* decode(whole, decoder, what);
  } finally {
    await stored.return(undefined);
  }
}

async function* decode(
  whole: AsyncGenerator<Buffer>,
  decoder: Transform,
  what: string,
): AsyncGenerator<Buffer> {
  // Errors of either side end the other and come out of the loop below.
  pipeline(Readable.from(whole, { objectMode: false }), decoder, () => undefined);
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    if (/^Z(STD)?_/.test(systemCodeOf(error)))
      throw refused(`${what} cannot be decompressed: ${(error as Error).message}`);
    throw error;
  }
}

function makeDecoder(first: Buffer, what: string): Transform | undefined {
  if (first.subarray(0, 2).equals(GZIP)) return zlib.createGunzip(GUNZIP);
  if (!first.subarray(0, 4).equals(ZSTD)) return undefined;
  // Node has it from 22.15 on, with a limit for the memory that it takes.
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform };
  return createZstdDecompress === undefined ? makeZstdDecoder(what) : createZstdDecompress();
}

const MAX_PUSH_BYTES = 16 * 1024;

/** For Node without zstd of its own: slower, and in small pieces, as each is decompressed in one go. */
function makeZstdDecoder(what: string): Transform {
  const frames = new ZstdFrames((bytes) => {
    if (bytes > MAX_WINDOW_BYTES) throw new Error('it wants more than 128 MiB of memory for that');
  });
  const decoder = new Decompress((chunk) => {
    if (chunk.length > 0) transform.push(chunk);
  });
  const run = (work: () => void, done: (error?: Error) => void): void => {
    try {
      work();
      done();
    } catch (error) {
      done(refused(`${what} cannot be decompressed: ${(error as Error).message}`));
    }
  };
  const push = (piece: Buffer): void => {
    // Before the decoder takes the memory for a frame that begins in it.
    frames.add(piece);
    decoder.push(piece);
  };
  const transform = new Transform({
    transform: (chunk: Buffer, _, done) =>
      run(() => {
        for (let at = 0; at < chunk.length; at += MAX_PUSH_BYTES)
          push(chunk.subarray(at, at + MAX_PUSH_BYTES));
      }, done),
    flush: (done) =>
      run(() => {
        decoder.push(new Uint8Array(0), true);
      }, done),
  });
  return transform;
}

async function* startingWith(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
