/**
 * The header of an entry of a tar: 512 bytes, as POSIX has them (ustar), with GNU's way of writing large numbers.
 *
 * @module
 */

/** A tar is made of such blocks: headers are one each, contents are filled up. */
export const BLOCK_BYTES = 512;

/** Of the kinds of entries those that are of interest here. */
export const EntryKind = {
  file: '0',
  hardLink: '1',
  link: '2',
  folder: '5',
  paxHeader: 'x',
  paxGlobal: 'g',
  gnuLongName: 'L',
  gnuLongLink: 'K',
} as const;

/** What a header says. */
export interface TarHeader {
  readonly name: string;
  /** One character; one of {@link EntryKind}, or something that is not copied. */
  readonly kind: string;
  /** Of the content that follows, in bytes. */
  readonly size: number;
  readonly mode: number;
  /** In seconds since the epoch. */
  readonly modified: number;
  /** Of links: where to. */
  readonly target: string;
}

/** A tar that is none, or that ends too early. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** Reads a header; undefined for a block of zeros, which ends a tar. Throws {@link TarError}. */
export function decodeHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (readNumber(block, 148, 8) !== checksumOf(block))
    throw new TarError('the checksum of a header is wrong');
  const prefix =
    block.toString('latin1', 257, 262) === 'ustar' && block[262] === 0 ? readText(block, 345, 155) : '';
  const name = readText(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    // Old tars have a zero byte for a file.
    kind: block[156] === 0 ? EntryKind.file : String.fromCharCode(block[156]!),
    size: readNumber(block, 124, 12),
    mode: readNumber(block, 100, 8) & 0o7777,
    modified: readNumber(block, 136, 12),
    target: readText(block, 157, 100),
  };
}

/** The blocks of a header; names that do not fit are put into an extended header in front. */
export function encodeHeader(header: TarHeader): Buffer {
  const records: string[] = [];
  const fits = (text: string): boolean => Buffer.byteLength(text) <= 100;
  if (!fits(header.name)) records.push(paxRecord('path', header.name));
  if (!fits(header.target)) records.push(paxRecord('linkpath', header.target));
  if (header.size >= 8 ** 11) records.push(paxRecord('size', String(header.size)));
  if (records.length === 0) return encodeBlock(header);
  const body = Buffer.from(records.join(''));
  const extension = {
    ...header,
    name: 'PaxHeader',
    kind: EntryKind.paxHeader,
    size: body.length,
    target: '',
  };
  return Buffer.concat([encodeBlock(extension), body, padding(body.length), encodeBlock(header)]);
}

/** The zeros behind a content of so many bytes, up to the next block. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** The records of an extended header by name; what is no record ends it. */
export function decodePax(body: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length;) {
    const space = body.indexOf(0x20, at);
    const length = space < 0 ? Number.NaN : Number(body.toString('latin1', at, space));
    if (!(length > 0) || at + length > body.length) break;
    const record = body.toString('utf8', space + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (equals > 0) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** `LENGTH NAME=VALUE\n`, where the length counts itself. */
function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (bytes + String(length).length !== length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

function encodeBlock({ name, kind, size, mode, modified, target }: TarHeader): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(
      Math.max(0, Math.floor(value)).toString(8).padStart(digits, '0').slice(-digits),
      at,
      'latin1',
    );
  Buffer.from(name).subarray(0, 100).copy(block, 0);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size < 8 ** 11 ? size : 0, 124, 11);
  octal(modified, 136, 11);
  block.write(kind, 156, 'latin1');
  Buffer.from(target).subarray(0, 100).copy(block, 157);
  block.write('ustar\u000000', 257, 'latin1');
  octal(checksumOf(block), 148, 6);
  block[154] = 0;
  block[155] = 0x20;
  return block;
}

function readText(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? length : end);
}

function readNumber(block: Buffer, at: number, length: number): number {
  const field = block.subarray(at, at + length);
  if ((field[0]! & 0x80) === 0) {
    const text = field.toString('latin1').replaceAll(/[\0 ]/g, '');
    const value = text === '' ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
    if (!Number.isSafeInteger(value)) throw new TarError('a number in a header is none');
    return value;
  }
  let value = field[0]! & 0x7f;
  for (const byte of field.subarray(1)) value = value * 256 + byte;
  if (!Number.isSafeInteger(value)) throw new TarError('a number in a header is too large');
  return value;
}

/** Of all bytes, those of the checksum itself counting as spaces. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}
