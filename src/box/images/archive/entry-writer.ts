import { constants } from 'node:fs';
import { dirname } from 'node:path';
import { writeFully } from '#base/fs/write-fully.js';
import { chmod, lchown, lutimes, open, utimes } from './blocking-files.js';
import { toMode, toTime } from './entry-facts.js';
import { addCapabilities, CAPABILITIES } from './file-capabilities.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';
import { type UnpackMeter } from './unpack-limits.js';
import { messageOf } from '#base/errors/errors.js';
import { runTool } from '../run-tool.js';

/** What an {@link EntryWriter} takes. */
export interface EntryWriterOptions {
  readonly root: string;
  readonly privileged: boolean;
  readonly meter: UnpackMeter;
  readonly signal: AbortSignal;
}

/** What could not be made as the image has it. */
export interface UnpackReport {
  /** Devices, without the right to make them. */
  readonly devices: number;
  /** Extended attributes: Node has no call for them. */
  readonly attributes: number;
}

/** Writes the entries of layers at places that were found for them, as the image has them. */
export class EntryWriter {
  readonly #root: string;
  readonly #privileged: boolean;
  readonly #meter: UnpackMeter;
  readonly #signal: AbortSignal;
  /** The times of folders, to be set last: every entry inside changes them. */
  readonly folderTimes = new Map<string, number>();
  /** Whether some folder gives its group to what is made in it. */
  #inheritsGroups = false;
  #devices = 0;
  #attributes = 0;

  constructor({ root, privileged, meter, signal }: EntryWriterOptions) {
    this.#root = root;
    this.#privileged = privileged;
    this.#meter = meter;
    this.#signal = signal;
  }

  get report(): UnpackReport {
    return { devices: this.#devices, attributes: this.#attributes };
  }

  /** Makes a new file, with its facts. */
  async writeFile(entry: TarEntry, path: string): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    let end = 0;
    for await (const { offset, data } of entry.content()) {
      this.#signal.throwIfAborted();
      await this.#meter.addWritten(data.length);
      await writeFully(file, data, offset);
      end = offset + data.length;
    }
    if (end < entry.size) await file.truncate(entry.size);
    if (this.#needsOwner(entry)) await file.chown(entry.uid, entry.gid);
    // After the owner: a new owner takes the setuid bit away.
    await file.chmod(toMode(entry, this.#privileged));
    const mtime = toTime(entry);
    await file.utimes(mtime, mtime);
  }

  /** Makes a device or a named pipe, without its facts; false when it was left out. */
  async makeSpecial(entry: TarEntry, path: string): Promise<boolean> {
    const result = await makeSpecialFile(entry, path, this.#privileged);
    if (result === 'forbidden') this.#devices++;
    return result === 'made';
  }

  /** Owner, mode and time of what is no file: those have theirs from {@link writeFile}. */
  async setFacts(path: string, entry: TarEntry): Promise<void> {
    const mtime = toTime(entry);
    if (this.#needsOwner(entry)) await lchown(path, entry.uid, entry.gid);
    if (entry.kind === 'symlink') {
      await lutimes(path, mtime, mtime);
      return;
    }
    // After the owner: a new owner takes the setgid bit away.
    await chmod(path, toMode(entry, this.#privileged));
    if (entry.kind === 'folder') {
      this.folderTimes.set(path, mtime);
      this.#inheritsGroups ||= (entry.mode & 0o2000) !== 0;
    } else await utimes(path, mtime, mtime);
  }

  /** Sets what can be set of the extended attributes: the last thing to do with an entry. */
  async addAttributes(entry: TarEntry, path: string): Promise<void> {
    this.#attributes += entry.attributes.size - (await this.#addCapabilities(entry, path));
  }

  /** What is new belongs to this process, unless its folder says otherwise; what stays may belong to anybody. */
  #needsOwner({ kind, uid, gid }: TarEntry): boolean {
    if (!this.#privileged) return false;
    const isOwn = uid === process.geteuid?.() && gid === process.getegid?.();
    return !isOwn || this.#inheritsGroups || kind === 'folder';
  }

  /** How many attributes it has set: the one that holds capabilities, or none. */
  async #addCapabilities(entry: TarEntry, path: string): Promise<number> {
    if (!this.#privileged || entry.kind !== 'file' || !entry.attributes.has(CAPABILITIES)) return 0;
    const made = await addCapabilities(entry, {
      path,
      folder: dirname(this.#root),
      signal: this.#signal,
      beforeWrite: (bytes) => this.#meter.addWritten(bytes),
    });
    return made ? 1 : 0;
  }
}

const LETTERS = { character: 'c', block: 'b', fifo: 'p' } as const;

/** What {@link makeSpecialFile} did. `left-out`: to overlayfs the device would mean that there is no such file. */
type SpecialFileResult = 'made' | 'left-out' | 'forbidden';

/**
 * Makes a named pipe or a device through coreutils' mknod, since Node has no call for it. `forbidden` when it is a
 * device and this process has no right to make one.
 */
async function makeSpecialFile(
  { kind, deviceMajor, deviceMinor }: TarEntry,
  path: string,
  privileged: boolean,
): Promise<SpecialFileResult> {
  if (kind !== 'fifo' && kind !== 'character' && kind !== 'block')
    throw new Error(`a ${kind} is no special file`);
  const isDevice = kind !== 'fifo';
  if (isDevice && !privileged) return 'forbidden';
  const numbers = isDevice ? [deviceMajor, deviceMinor] : [];
  if (numbers.some((number) => number < 0 || number > 0xf_ffff))
    throw new Error('its device numbers cannot be');
  if (kind === 'character' && deviceMajor === 0 && deviceMinor === 0) return 'left-out';
  const args = ['-m', '0600', '--', path, LETTERS[kind], ...numbers.map(String)];
  const failure = await runTool('mknod', args).then(
    () => undefined,
    (error: unknown) => messageOf(error),
  );
  if (failure === undefined) return 'made';
  if (isDevice && failure.includes('Operation not permitted')) return 'forbidden';
  throw new Error(failure);
}
