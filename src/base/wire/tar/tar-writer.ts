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

/** What a header says. */
export interface WrittenHeader {
  readonly name: string;
  /** One character, mostly of {@link EntryKind}. */
  readonly kind: string;
  /** Of the content that follows, in bytes. */
  readonly size: number;
  readonly mode: number;
  /** In seconds since the epoch. */
  readonly modified: number;
  /** Of links: where to. */
  readonly target: string;
}

/** The blocks of a header; names that do not fit are put into an extended header in front. */
export function encodeHeader(header: WrittenHeader): Buffer {
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
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

/** `LENGTH NAME=VALUE\n`, where the length counts itself. */
function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (bytes + String(length).length !== length) length = bytes + String(length).length;
  return `${length}${rest}`;
}

function encodeBlock({ name, kind, size, mode, modified, target }: WrittenHeader): Buffer {
  const block = Buffer.alloc(BLOCK);
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

/** Of all bytes, those of the checksum itself counting as spaces. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}
