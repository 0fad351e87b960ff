/**
 * The log of every write to a disk, in the format of Linux' dm-log-writes, which QEMU's `blklogwrites` writes as well.
 *
 * In: such a log. Out: its entries in the order in which the disk completed them, and the disk as it was after any of them. A disk
 * that loses its power has at least all that came before its last completed flush; so the state at a flush is the least that a
 * program may count on after `fsync`.
 *
 * ```
 *   sector 0: magic, version, number of entries, sector size
 *   then for each entry: a sector with its head, then the data (writes only)
 * ```
 *
 * Source: drivers/md/dm-log-writes.c and its page in the kernel's documentation (device-mapper/log-writes).
 *
 * @module
 */
import { type FileHandle, open } from 'node:fs/promises';

/** One write, flush or discard. Sectors have 512 bytes, whatever the sector size of the log. */
export interface LogEntry {
  /** Position in the log, from 0. */
  readonly index: number;
  readonly sector: number;
  readonly sectors: number;
  readonly isFlush: boolean;
  readonly isDiscard: boolean;
  /** Where its data begins in the log file, in bytes. Meaningless without data. */
  readonly dataOffset: number;
}

const MAGIC = 0x6a736677736872n;
const VERSION = 1n;
const DISK_SECTOR_BYTES = 512;
const FLAG_FLUSH = 1n;
const FLAG_DISCARD = 4n;
/** Copied at a time. */
const MAX_COPY_BYTES = 1 << 20;

/** A log that is read. Close it with `await using`. */
export class WriteLog implements AsyncDisposable {
  private constructor(
    readonly entries: readonly LogEntry[],
    private readonly file: FileHandle,
  ) {}

  /** Reads the heads of all entries. Throws when the file is no such log. */
  static async open(path: string): Promise<WriteLog> {
    const file = await open(path, 'r');
    try {
      return new WriteLog(await readEntries(file, path), file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Every flush: the points at which a disk has promised something. */
  get flushes(): readonly LogEntry[] {
    return this.entries.filter((entry) => entry.isFlush);
  }

  /**
   * Writes entries `[from, to)` into an image of the disk. Replaying all entries up to a flush, that flush included, gives the disk
   * as a loss of power right after it leaves it at least.
   */
  async replay(image: FileHandle, from: number, to: number): Promise<void> {
    for (const entry of this.entries.slice(from, to)) {
      if (entry.isDiscard) await writeZeros(image, entry);
      else await this.#copy(image, entry);
    }
  }

  async #copy(image: FileHandle, entry: LogEntry): Promise<void> {
    const bytes = entry.sectors * DISK_SECTOR_BYTES;
    const at = entry.sector * DISK_SECTOR_BYTES;
    const chunk = Buffer.alloc(Math.min(bytes, MAX_COPY_BYTES));
    for (let done = 0; done < bytes;) {
      const wanted = Math.min(chunk.length, bytes - done);
      const { bytesRead } = await this.file.read(chunk, 0, wanted, entry.dataOffset + done);
      if (bytesRead === 0) throw new Error(`the log ends within the data of entry ${entry.index}`);
      await image.write(chunk, 0, bytesRead, at + done);
      done += bytesRead;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.file.close();
  }
}

async function readEntries(file: FileHandle, path: string): Promise<LogEntry[]> {
  const head = Buffer.alloc(DISK_SECTOR_BYTES);
  const { bytesRead } = await file.read(head, 0, head.length, 0);
  if (bytesRead < 28 || head.readBigUInt64LE(0) !== MAGIC)
    throw new Error(`${path} is no log of writes: its first bytes are not those of dm-log-writes`);
  const version = head.readBigUInt64LE(8);
  if (version !== VERSION)
    throw new Error(`${path} has version ${version}; only version ${VERSION} is known`);
  const count = Number(head.readBigUInt64LE(16));
  const sectorBytes = head.readUInt32LE(24);
  const { size } = await file.stat();
  const entries: LogEntry[] = [];
  let offset = sectorBytes;
  while (entries.length < count) {
    const { bytesRead: got } = await file.read(head, 0, 32, offset);
    if (got < 32) throw new Error(`${path} ends after ${entries.length} of ${count} entries`);
    const flags = head.readBigUInt64LE(16);
    const sectors = Number(head.readBigUInt64LE(8));
    const isDiscard = (flags & FLAG_DISCARD) !== 0n;
    const dataOffset = offset + sectorBytes;
    const dataBytes = isDiscard ? 0 : sectors * DISK_SECTOR_BYTES;
    if (dataOffset + dataBytes > size) throw new Error(`${path} ends within entry ${entries.length}`);
    entries.push({
      index: entries.length,
      sector: Number(head.readBigUInt64LE(0)),
      sectors,
      isFlush: (flags & FLAG_FLUSH) !== 0n,
      isDiscard,
      dataOffset,
    });
    // The data of an entry takes whole sectors of the log.
    offset = dataOffset + Math.ceil(dataBytes / sectorBytes) * sectorBytes;
  }
  return entries;
}

async function writeZeros(image: FileHandle, { sector, sectors }: LogEntry): Promise<void> {
  const end = (sector + sectors) * DISK_SECTOR_BYTES;
  const zeros = Buffer.alloc(Math.min(sectors * DISK_SECTOR_BYTES, MAX_COPY_BYTES));
  for (let at = sector * DISK_SECTOR_BYTES; at < end; at += zeros.length)
    await image.write(zeros, 0, Math.min(zeros.length, end - at), at);
}
