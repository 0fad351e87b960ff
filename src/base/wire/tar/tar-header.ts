import { type DecodeName, TarError, type TarEntry, type TarKind } from './tar-entry.js';

/** A tar is made of blocks of so many bytes; headers are one each, contents are filled up. */
export const BLOCK = 512;

/** A header block as it stands there, without what extended headers before it say. */
export interface TarHeader extends Omit<TarEntry, 'kind' | 'attributes' | 'stored' | 'content'> {
  readonly flag: string;
}

const KINDS: Readonly<Record<string, TarKind>> = {
  '0': 'file',
  '\0': 'file',
  // Contiguous files, and GNU's sparse ones.
  '7': 'file',
  S: 'file',
  '1': 'link',
  '2': 'symlink',
  '3': 'character',
  '4': 'block',
  '5': 'folder',
  '6': 'fifo',
};

/** What the flag of a header means; throws for one that nobody has defined. */
export function toTarKind({ flag, name }: TarHeader): TarKind {
  const kind = KINDS[flag];
  if (kind === undefined) throw new TarError(`"${name}" is of the unknown type "${flag}"`);
  // Archives older than POSIX have no flag for folders.
  return kind === 'file' && flag !== 'S' && name.endsWith('/') ? 'folder' : kind;
}

/** Reads a header block (POSIX ustar, GNU or older); undefined for a block of zeros, which ends an archive. */
export function readHeader(block: Buffer, decodeName: DecodeName): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (!hasRightSum(block)) throw new TarError('the check sum of a header is wrong');
  const magic = block.toString('latin1', 257, 265);
  const name = readText(block, 0, 100, decodeName);
  // GNU puts other things where POSIX has the beginning of a long name.
  const prefix = magic === 'ustar\x0000' ? readText(block, 345, 155, decodeName) : '';
  return {
    flag: String.fromCharCode(block[156]!),
    name: prefix === '' ? name : `${prefix}/${name}`,
    linkName: readText(block, 157, 100, decodeName),
    mode: readNumber(block, 100, 8) & 0o7777,
    uid: readNumber(block, 108, 8),
    gid: readNumber(block, 116, 8),
    size: readSize(block, 124, 12),
    mtime: readNumber(block, 136, 12),
    ...(magic.startsWith('ustar')
      ? { deviceMajor: readNumber(block, 329, 8), deviceMinor: readNumber(block, 337, 8) }
      : { deviceMajor: 0, deviceMinor: 0 }),
  };
}

/** Text of bytes; throws where it is not UTF-8, since a name that was changed would be another file's. */
export function decodeText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (text.includes('\uFFFD') && !Buffer.from(text).equals(bytes))
    throw new TarError(`a name is not UTF-8: ${text.slice(0, 100)}`);
  return text;
}

/** A number in a header that counts bytes: whole and not negative. */
export function readSize(block: Buffer, offset: number, length: number): number {
  const size = readNumber(block, offset, length);
  if (size < 0) throw new TarError('a size is negative');
  return size;
}

/** Octal digits, or with the highest bit set a big-endian number in two's complement. */
function readNumber(block: Buffer, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  if ((field[0]! & 0x80) !== 0) return readBinary(field);
  const digits = field.toString('latin1').replaceAll('\0', ' ').trim();
  if (digits === '') return 0;
  if (!/^[0-7]+$/.test(digits)) throw new TarError('a number in a header is not octal');
  return Number.parseInt(digits, 8);
}

function readBinary(field: Buffer): number {
  const negative = (field[0]! & 0x40) !== 0;
  let value = BigInt(negative ? field[0]! | ~0xff : field[0]! & 0x7f);
  for (const byte of field.subarray(1)) value = (value << 8n) | BigInt(byte);
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new TarError('a number in a header is absurdly large');
  return number;
}

function readText(block: Buffer, offset: number, length: number, decodeName: DecodeName): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return decodeName(end < 0 ? field : field.subarray(0, end));
}

function hasRightSum(block: Buffer): boolean {
  const digits = block.toString('latin1', 148, 156).replaceAll('\0', ' ').trim();
  if (!/^[0-7]+$/.test(digits)) return false;
  const expected = Number.parseInt(digits, 8);
  let unsigned = 0;
  let signed = 0;
  for (let at = 0; at < BLOCK; at++) {
    // The sum is taken with spaces in its own place.
    const value = at >= 148 && at < 156 ? 0x20 : block[at]!;
    unsigned += value;
    signed += value > 127 ? value - 256 : value;
  }
  // Some old writers added up signed bytes.
  return expected === unsigned || expected === signed;
}
