/** What an entry of an archive is. A `link` is a hard link. */
export type TarKind = 'file' | 'link' | 'symlink' | 'character' | 'block' | 'folder' | 'fifo';

/** A piece of a file's content and where it belongs; what no piece covers is zeros. */
export interface ContentPiece {
  readonly offset: number;
  readonly data: Buffer;
}

/** One member of an archive, extended headers already applied. */
export interface TarEntry {
  readonly kind: TarKind;
  /** As it stands there: relative or not, with `..` or not. */
  readonly name: string;
  /** The target of a link; empty for all others. */
  readonly linkName: string;
  /** Permission bits, setuid, setgid and sticky among them. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** A file's bytes, holes included; 0 for all others. */
  readonly size: number;
  /** Seconds since the epoch, with fraction. */
  readonly mtime: number;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  /** Extended attributes by name. */
  readonly attributes: ReadonlyMap<string, string>;
  /** Where the stored content begins in the archive, and its length: sparse files have less than `size`. */
  readonly stored: { readonly offset: number; readonly size: number };
  /** The content, once, before the next entry is asked for; what is not read is passed over. */
  readonly content: () => AsyncGenerator<ContentPiece>;
}

/** An archive that is cut off, or says something that cannot be. */
export class TarError extends Error {
  override readonly name = 'TarError';

  constructor(why: string) {
    super(`the archive is damaged: ${why}`);
  }
}

/** Text of the bytes of a name. */
export type DecodeName = (bytes: Buffer) => string;
