import { SpdyError, type SpdyHeaders } from './spdy-frame.js';

/** The maximum number of headers of a stream; Kubernetes' have at most three. */
const MAX_HEADERS = 100;

/**
 * Parses a decompressed block: a count, then for each header the length and bytes of its name and of its
 * value.
 *
 * Throws {@link SpdyError} if it is incomplete, has trailing bytes, or has duplicate names.
 */
export function decodeHeaderBlock(block: Buffer): SpdyHeaders {
  let at = 0;
  const readNumber = (): number => {
    if (at + 4 > block.length) throw new SpdyError('headers are cut off');
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const readText = (): string => {
    const length = readNumber();
    if (length > block.length - at) throw new SpdyError('headers are cut off');
    at += length;
    return block.toString('latin1', at - length, at);
  };
  const headers = new Map<string, string>();
  const count = readNumber();
  if (count > MAX_HEADERS) throw new SpdyError(`${count} headers`);
  for (let left = count; left > 0; left--) {
    // Go's client has been seen to send names in upper case, and rejecting them would help nobody.
    const name = readText().toLowerCase();
    if (headers.has(name)) throw new SpdyError(`the header ${name} twice`);
    headers.set(name, readText());
  }
  if (at !== block.length) throw new SpdyError('something follows the headers');
  return headers;
}

/** The reverse of {@link decodeHeaderBlock}, for names and values in latin-1. */
export function encodeHeaderBlock(headers: SpdyHeaders): Buffer {
  const parts = [number(headers.size)];
  for (const text of [...headers].flat()) parts.push(number(text.length), Buffer.from(text, 'latin1'));
  return Buffer.concat(parts);
}

function number(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
