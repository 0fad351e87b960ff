/** One member of an archive. Defaults are those of an ordinary file or folder of root's. */
export interface TarMember {
  /** Folders end in a slash. Longer than 100 bytes: an extended header is put before it. */
  readonly name: string;
  /** Octal permission bits (default: 0o755). */
  readonly mode?: number;
  /** A file's bytes. */
  readonly content?: Uint8Array | string;
  /** A symbolic link's target. */
  readonly linkTo?: string;
  /** A hard link's target: the name of another member. */
  readonly hardLinkTo?: string;
  readonly device?: { readonly kind: 'character' | 'block'; readonly major: number; readonly minor: number };
  readonly fifo?: boolean;
  readonly uid?: number;
  readonly gid?: number;
  /** Seconds since the epoch (default: 0). */
  readonly mtime?: number;
  /** Records of an extended header before it. */
  readonly pax?: Readonly<Record<string, string>>;
  /** For archives that lie: the type and the size that the header claims. */
  readonly claims?: { readonly flag?: string; readonly size?: number };
}

const BLOCK = 512;
const MAX_NAME_LENGTH = 100;

/** An uncompressed ustar archive. The same members give the same bytes. */
export function packTar(members: readonly TarMember[]): Buffer {
  return Buffer.concat([...members.flatMap(packMember), Buffer.alloc(2 * BLOCK)]);
}

function packMember(member: TarMember): Buffer[] {
  const content = Buffer.from(member.content ?? '');
  const pax = { ...longNames(member), ...member.pax };
  const extended = Object.entries(pax).map(toPaxRecord);
  return [
    ...(extended.length === 0 ? [] : packRaw('pax', 'x', Buffer.concat(extended))),
    header(member, member.claims?.size ?? content.length),
    ...padded(content),
  ];
}

/** A member of any type with any content, for headers that are none of the usual ones. */
export function packRaw(name: string, flag: string, content: Buffer): Buffer[] {
  return [header({ name, claims: { flag } }, content.length), ...padded(content)];
}

function longNames({ name, linkTo, hardLinkTo }: TarMember): Record<string, string> {
  const target = linkTo ?? hardLinkTo ?? '';
  return {
    ...(Buffer.byteLength(name) > MAX_NAME_LENGTH ? { path: name } : {}),
    ...(Buffer.byteLength(target) > MAX_NAME_LENGTH ? { linkpath: target } : {}),
  };
}

function toPaxRecord([key, value]: [string, string]): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length++;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function padded(content: Buffer): Buffer[] {
  const rest = content.length % BLOCK;
  return rest === 0 ? [content] : [content, Buffer.alloc(BLOCK - rest)];
}

function header(member: TarMember, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const text = (value: string, offset: number, length: number): void => {
    Buffer.from(value).copy(block, offset, 0, length);
  };
  const number = (value: number, offset: number, length: number): void => {
    const digits = value.toString(8);
    if (value >= 0 && digits.length < length) text(digits.padStart(length - 1, '0'), offset, length);
    else {
      block.fill(value < 0 ? 0xff : 0, offset, offset + length);
      block.writeBigInt64BE(BigInt(value), offset + length - 8);
      block[offset] = 0x80 | block[offset]!;
    }
  };
  const { device } = member;
  text(member.name, 0, MAX_NAME_LENGTH);
  number(member.mode ?? 0o755, 100, 8);
  number(member.uid ?? 0, 108, 8);
  number(member.gid ?? 0, 116, 8);
  number(size, 124, 12);
  number(member.mtime ?? 0, 136, 12);
  text(typeFlag(member), 156, 1);
  text(member.linkTo ?? member.hardLinkTo ?? '', 157, MAX_NAME_LENGTH);
  text('ustar\u000000', 257, 8);
  if (device !== undefined) {
    number(device.major, 329, 8);
    number(device.minor, 337, 8);
  }
  // The sum is taken with spaces in its own place.
  text(' '.repeat(8), 148, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  text(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 8);
  return block;
}

function typeFlag({ name, linkTo, hardLinkTo, device, fifo, claims }: TarMember): string {
  if (claims?.flag !== undefined) return claims.flag;
  if (linkTo !== undefined) return '2';
  if (hardLinkTo !== undefined) return '1';
  if (device !== undefined) return device.kind === 'character' ? '3' : '4';
  if (fifo === true) return '6';
  return name.endsWith('/') ? '5' : '0';
}
