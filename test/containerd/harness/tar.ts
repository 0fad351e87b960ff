/** One member of an archive. */
export interface TarEntry {
  /** Relative, without a leading slash; folders end in one. At most 100 bytes. */
  readonly name: string;
  /** Octal permission bits; 0o755 unless told. */
  readonly mode?: number;
  /** A file's bytes. */
  readonly content?: Buffer;
  /** A symbolic link's target. */
  readonly linkTo?: string;
}

const BLOCK = 512;

/** An uncompressed ustar archive. The same entries give the same bytes: no times, no owners. */
export function packTar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = entry.content ?? Buffer.alloc(0);
    parts.push(header(entry, content.length), content);
    const rest = content.length % BLOCK;
    if (rest > 0) parts.push(Buffer.alloc(BLOCK - rest));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

function header(entry: TarEntry, size: number): Buffer {
  if (Buffer.byteLength(entry.name) > 100) throw new Error(`name too long for this writer: ${entry.name}`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number): void => {
    block.write(value.toString(8).padStart(length - 1, '0'), offset, 'ascii');
  };
  block.write(entry.name, 0, 'utf8');
  octal(entry.mode ?? 0o755, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  block.write(typeFlag(entry), 156, 'ascii');
  if (entry.linkTo !== undefined) block.write(entry.linkTo, 157, 'utf8');
  block.write('ustar\u000000', 257, 'ascii');
  // The sum is taken with spaces in its own place.
  block.write(' '.repeat(8), 148, 'ascii');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'ascii');
  return block;
}

function typeFlag(entry: TarEntry): string {
  if (entry.linkTo !== undefined) return '2';
  return entry.name.endsWith('/') ? '5' : '0';
}
