/**
 * Writes the headers of a tar: 512 bytes each, as POSIX has them (ustar), with extended headers (pax) for what does not
 * fit.
 *
 * @module
 */

import { BLOCK } from './tar-header.js';

/** Of the kinds of entries those that are written. */
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

/** The first size, and the first number of a user or a group, that the digits of a header do not hold. */
const SIZE_LIMIT = 8 ** 11;
const OWNER_LIMIT = 8 ** 7;

/** What a header says. */
export interface WrittenHeader {
  readonly name: string;
  /** One character, mostly of {@link EntryKind}. */
  readonly kind: string;
  /** Of the content that follows, in bytes. */
  readonly size: number;
  readonly mode: number;
  /** In seconds since the epoch; a fraction of one is cut off. */
  readonly modified: number;
  /** Of links: where to. */
  readonly target: string;
  /** Who owns it (default: root, 0). */
  readonly uid?: number;
  readonly gid?: number;
  /** Extended attributes by name; each character of a value stands for one byte. */
  readonly attributes?: ReadonlyMap<string, string>;
}

/** The blocks of a header; what does not fit or has no place in one is put into an extended header in front. */
export function encodeHeader(header: WrittenHeader): Buffer {
  const records = extendedRecords(header);
  if (records.length === 0) return encodeBlock(header);
  const body = Buffer.concat(records);
  const extension = {
    ...header,
    name: 'PaxHeader',
    kind: EntryKind.paxHeader,
    size: body.length,
    target: '',
  };
  return Buffer.concat([encodeBlock(extension), body, padding(body.length), encodeBlock(header)]);
}

function extendedRecords({ name, target, size, uid = 0, gid = 0, attributes }: WrittenHeader): Buffer[] {
  const records: Buffer[] = [];
  const add = (key: string, value: string, encoding: BufferEncoding = 'utf8'): void =>
    void records.push(paxRecord(key, Buffer.from(value, encoding)));
  const fits = (text: string): boolean => Buffer.byteLength(text) <= 100;
  if (!fits(name)) add('path', name);
  if (!fits(target)) add('linkpath', target);
  if (size >= SIZE_LIMIT) add('size', String(size));
  if (uid >= OWNER_LIMIT) add('uid', String(uid));
  if (gid >= OWNER_LIMIT) add('gid', String(gid));
  for (const [attribute, value] of attributes ?? []) add(`SCHILY.xattr.${attribute}`, value, 'latin1');
  return records;
}

/** The zeros behind a content of so many bytes, up to the next block. */
export function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** `LENGTH NAME=VALUE\n`, where the length counts itself. */
function paxRecord(name: string, value: Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${name}=`), value, Buffer.from('\n')]);
  let length = rest.length + 1;
  while (rest.length + String(length).length !== length) length = rest.length + String(length).length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function encodeBlock(header: WrittenHeader): Buffer {
  const { name, kind, size, mode, modified, target, uid = 0, gid = 0 } = header;
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(
      Math.max(0, Math.floor(value)).toString(8).padStart(digits, '0').slice(-digits),
      at,
      'latin1',
    );
  Buffer.from(name).subarray(0, 100).copy(block, 0);
  octal(mode, 100, 7);
  octal(uid < OWNER_LIMIT ? uid : 0, 108, 7);
  octal(gid < OWNER_LIMIT ? gid : 0, 116, 7);
  octal(size < SIZE_LIMIT ? size : 0, 124, 11);
  octal(modified, 136, 11);
  block.write(kind, 156, 'latin1');
  Buffer.from(target).subarray(0, 100).copy(block, 157);
  block.write('ustar\u000000', 257, 'latin1');
  octal(checksumOf(block), 148, 6);
  block[154] = 0;
  block[155] = 0x20;
  return block;
}

/** Of all bytes, those of the checksum itself counting as spaces. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}
