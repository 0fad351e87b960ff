import { createHash, type Hash } from 'node:crypto';
import { open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { syncPath, writeWhole } from '#base/fs/whole-file.js';
import { type Clock } from '#base/time/clock.js';
import { RpcError } from '../rpc-error.js';
import { isDigest } from './archive/digest.js';
import { type FileRegion } from './archive/file-region.js';
import { type Descriptor } from './archive/oci-documents.js';
import { isFull } from '#base/fs/disk-errors.js';
import { diskIsFull, UnpackMeter, type UnpackLimits } from './archive/unpack-limits.js';
import { type FolderUsage } from './folder-usage.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** A blob that is being fetched, with what an earlier attempt has left of it. */
export interface PartialBlob {
  /** How many bytes there are. */
  readonly size: number;
  /** Throws FAILED_PRECONDITION as soon as it is more than was announced, RESOURCE_EXHAUSTED when the disk is full. */
  append(bytes: Buffer): Promise<void>;
  /** Throws away what there is. */
  restart(): Promise<void>;
  /** Throws FAILED_PRECONDITION, and throws away what there is, unless size and digest are right. */
  finish(): Promise<void>;
}

/** Keeps blobs that nobody recorded yet from being collected. */
export interface BlobLease {
  /** Does nothing once it is released: what others go on with belongs to their leases. */
  add(digest: string): void;
  release(): void;
}

const PARTIAL = '.partial';
const WRITE_BYTES = 1024 * 1024;
/** What comes slowly is written sooner: a kill costs no more than that. */
const WRITE_MS = 1_000;
/** What came for a pull that broke off is worth going on with for so long. */
const BROKEN_OFF_MS = 60 * 60_000;

/**
 * The blobs of images that came from registries, as they are stored there: a file for each, by digest.
 *
 * What a name with a digest stands for is whole and was checked. What is still coming, or broke off, has another name.
 *
 * A blob is {@link claim claimed} once an image that has it is recorded, and goes with its last image. Until then it
 * belongs to a pull, which may break off, or end with its process: the next one finds it for an hour.
 */
export class BlobStore {
  readonly #folder: string;
  readonly #limits: UnpackLimits;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #sizes = new Map<string, number>();
  readonly #leases = new Map<string, number>();
  /** Those of pulls that have recorded no image yet, or never did. */
  readonly #unclaimed = new Set<string>();
  readonly #flights = new SingleFlight<void>();
  /** Those that are being fetched, for {@link storedBytes}. */
  readonly #open = new Map<string, OpenBlob>();
  /** Whoever wants such a blob again waits for the end of it. */
  readonly #removals = new Map<string, Promise<void>>();

  private constructor({ folder, limits, clock }: BlobStoreOptions) {
    this.#folder = folder;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Takes up what is there. */
  static async open(options: BlobStoreOptions): Promise<BlobStore> {
    const store = new BlobStore(options);
    await makeFolder(options.folder, 0o700);
    for (const name of await readdir(options.folder)) {
      const digest = name.replace('-', ':');
      if (isDigest(digest)) store.#add(digest, (await stat(join(options.folder, name))).size);
      // Left by a write that was cut off.
      else if (name.endsWith('.tmp')) await rm(join(options.folder, name), { force: true });
    }
    return store;
  }

  /** To be called with the blobs of every image that is recorded: they go with their last image, at once. */
  claim(digests: Iterable<string>): void {
    for (const digest of digests) this.#unclaimed.delete(digest);
  }

  /** Whether it is there, in the size that a descriptor says. */
  has({ digest, size }: Pick<Descriptor, 'digest' | 'size'>): boolean {
    return this.#sizes.get(digest) === size;
  }

  /** Where it is; undefined when it is not there. */
  find(digest: string): FileRegion | undefined {
    const size = this.#sizes.get(digest);
    return size === undefined ? undefined : { path: this.#pathOf(digest), start: 0, size };
  }

  /** How many bytes of a blob are there, also while it is being fetched. */
  storedBytes(digest: string): number {
    return this.#sizes.get(digest) ?? this.#open.get(digest)?.size ?? 0;
  }

  /** What all of them take, those that are still coming not counted. */
  get usage(): FolderUsage {
    const bytes = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0);
    return { bytes: BigInt(bytes), inodes: BigInt(this.#sizes.size) };
  }

  lease(): BlobLease {
    const digests = new Set<string>();
    let isReleased = false;
    const count = (digest: string, by: number): void => {
      const left = (this.#leases.get(digest) ?? 0) + by;
      if (left > 0) this.#leases.set(digest, left);
      else this.#leases.delete(digest);
    };
    return {
      add: (digest) => {
        if (isReleased || digests.has(digest)) return;
        count(digest, 1);
        digests.add(digest);
      },
      release: () => {
        isReleased = true;
        for (const digest of digests) count(digest, -1);
        digests.clear();
      },
    };
  }

  /** Stores a document that was checked. */
  async put(digest: string, text: string): Promise<void> {
    const write = async (): Promise<void> => {
      if (this.#sizes.has(digest)) return;
      await this.#removals.get(digest);
      await writeWhole(this.#pathOf(digest), text);
      this.#add(digest, Buffer.byteLength(text));
    };
    await this.#flights.run(digest, write);
  }

  /** Throws away one that turned out to be damaged; one that is being fetched is checked in any case, and stays. */
  async discard(digest: string): Promise<void> {
    if (this.#flights.has(digest)) return;
    this.#sizes.delete(digest);
    this.#unclaimed.delete(digest);
    const removal = rm(this.#pathOf(digest), { force: true });
    this.#removals.set(digest, removal);
    await removal.finally(() => this.#removals.delete(digest));
  }

  /**
   * Makes sure that a blob is there, in its size, whatever became of its file since it was stored. `download` fills it and
   * calls `finish`; all who want it at the same time share that. What it leaves when it fails is there at the next call.
   */
  async fetch(
    descriptor: Descriptor,
    download: (blob: PartialBlob, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    if (await this.#hasFile(descriptor)) return;
    await this.#flights.run(
      descriptor.digest,
      ({ signal: stop }) => this.#fetch(descriptor, download, stop),
      signal,
    );
  }

  /** As {@link has}, of its file too; one that is gone or was cut off is given up. */
  async #hasFile(descriptor: Pick<Descriptor, 'digest' | 'size'>): Promise<boolean> {
    if (!this.has(descriptor)) return false;
    const facts = await stat(this.#pathOf(descriptor.digest)).catch(() => undefined);
    if (facts?.size === descriptor.size) return true;
    await this.discard(descriptor.digest);
    return false;
  }

  /** Removes what is neither needed nor leased, and what broke off long ago. */
  async collect(isNeeded: (digest: string) => boolean): Promise<void> {
    for (const digest of [...this.#sizes.keys()]) {
      const isOver = !this.#unclaimed.has(digest) || (await this.#isOld(this.#pathOf(digest)));
      if (isOver && !isNeeded(digest) && !this.#leases.has(digest)) await this.discard(digest);
    }
    await this.#removePartial((path) => this.#isOld(path));
  }

  /** Removes what broke off, however young: for a disk without room. */
  async discardBrokenOff(): Promise<void> {
    for (const digest of [...this.#unclaimed]) if (!this.#leases.has(digest)) await this.discard(digest);
    await this.#removePartial(() => true);
  }

  async #removePartial(isOver: (path: string) => boolean | Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith(PARTIAL)) continue;
      const digest = name.slice(0, -PARTIAL.length).replace('-', ':');
      const path = join(this.#folder, name);
      const isUsed = (): boolean => this.#leases.has(digest) || this.#flights.has(digest);
      if (!isUsed() && (await isOver(path)) && !isUsed()) await rm(path, { force: true });
    }
  }

  async #isOld(path: string): Promise<boolean> {
    const facts = await stat(path).catch(() => undefined);
    return Math.abs(this.#clock.now() - (facts?.mtimeMs ?? 0)) > BROKEN_OFF_MS;
  }

  #add(digest: string, size: number): void {
    this.#sizes.set(digest, size);
    this.#unclaimed.add(digest);
  }

  async #fetch(
    descriptor: Descriptor,
    download: (blob: PartialBlob, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { digest, size } = descriptor;
    if (this.has(descriptor)) return;
    await this.#removals.get(digest);
    const path = this.#pathOf(digest);
    await using file = await open(`${path}${PARTIAL}`, 'a+', 0o600);
    const meter = new UnpackMeter(this.#limits, this.#folder);
    const blob = await OpenBlob.take(file, descriptor, meter);
    this.#open.set(digest, blob);
    try {
      await this.#fill(blob, { file, path }, download, signal);
      await rename(`${path}${PARTIAL}`, path);
      await syncPath(this.#folder);
      if (signal.aborted && isFull(signal.reason)) {
        // Another blob of the same pull found no room: nobody waits for this one any more.
        await rm(path, { force: true });
        throw signal.reason;
      }
      this.#add(digest, size);
    } finally {
      this.#open.delete(digest);
    }
  }

  async #fill(
    blob: OpenBlob,
    { file, path }: { readonly file: FileHandle; readonly path: string },
    download: (blob: PartialBlob, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await download(blob, signal);
      if (!blob.isFinished) throw new Error(`${path} was not fetched`);
      await file.sync();
    } catch (error) {
      // What came before it broke off is not asked for again.
      await blob.flush().catch(() => undefined);
      // A full disk has no room for what may be gone on with.
      if (isFull(error)) await rm(`${path}${PARTIAL}`, { force: true });
      throw error;
    } finally {
      blob.end();
    }
  }

  #pathOf(digest: string): string {
    return join(this.#folder, digest.replace(':', '-'));
  }
}

/** What {@link BlobStore.open} takes. */
export interface BlobStoreOptions {
  readonly folder: string;
  readonly limits: UnpackLimits;
  readonly clock: Pick<Clock, 'now'>;
}

class OpenBlob implements PartialBlob {
  readonly #file: FileHandle;
  readonly #descriptor: Descriptor;
  readonly #meter: UnpackMeter;
  #hash: Hash;
  #size = 0;
  /** What came and is not written yet: each write costs a switch of threads, which a large one is worth. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  isFinished = false;

  private constructor(file: FileHandle, descriptor: Descriptor, meter: UnpackMeter) {
    this.#file = file;
    this.#descriptor = descriptor;
    this.#meter = meter;
    this.#hash = this.#newHash();
  }

  /** Reads what there is, for the digest of the whole. */
  static async take(file: FileHandle, descriptor: Descriptor, meter: UnpackMeter): Promise<OpenBlob> {
    const blob = new OpenBlob(file, descriptor, meter);
    const { size } = await file.stat();
    if (size > descriptor.size) {
      await blob.restart();
      return blob;
    }
    const buffer = Buffer.alloc(Math.min(size, 1024 * 1024));
    while (blob.#size < size) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, blob.#size);
      if (bytesRead === 0) break;
      blob.#hash.update(buffer.subarray(0, bytesRead));
      blob.#size += bytesRead;
    }
    return blob;
  }

  get size(): number {
    return this.#size;
  }

  async append(bytes: Buffer): Promise<void> {
    if (this.#size + bytes.length > this.#descriptor.size) {
      await this.restart();
      throw this.#wrong(`it is longer than the announced ${this.#descriptor.size} bytes`);
    }
    this.#hash.update(bytes);
    this.#size += bytes.length;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= WRITE_BYTES) await this.flush();
    // A failure is met by the next write.
    else this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), WRITE_MS);
  }

  /** Writes all that came. Throws RESOURCE_EXHAUSTED when the disk is full, from then on. */
  async flush(): Promise<void> {
    const pending = this.#takePending();
    this.#writing = this.#writing.then(() => this.#write(pending));
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Nothing is written after it. */
  end(): void {
    this.#takePending();
  }

  #takePending(): readonly Buffer[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const pending = this.#pending;
    [this.#pending, this.#pendingBytes] = [[], 0];
    return pending;
  }

  async #write(pending: readonly Buffer[]): Promise<void> {
    // What comes behind a piece that is missing is worth nothing.
    if (pending.length === 0 || this.#failure !== undefined) return;
    try {
      const bytes = Buffer.concat(pending);
      await this.#meter.addWritten(bytes.length);
      await this.#file.appendFile(bytes);
    } catch (error) {
      this.#failure = { error: isFull(error) ? diskIsFull() : error };
    }
  }

  async restart(): Promise<void> {
    this.#takePending();
    await this.#writing;
    this.#failure = undefined;
    await this.#file.truncate(0);
    this.#hash = this.#newHash();
    this.#size = 0;
  }

  async finish(): Promise<void> {
    const { digest, size } = this.#descriptor;
    const actual = `${digest.split(':')[0]!}:${this.#hash.copy().digest('hex')}`;
    if (this.#size === size && actual === digest) {
      await this.flush();
      this.isFinished = true;
      return;
    }
    const why =
      this.#size === size ? `its digest is ${actual}` : `it has ${this.#size} bytes instead of ${size}`;
    // What is too short may go on; what is wrong never gets right.
    if (this.#size === size) await this.restart();
    throw this.#wrong(why);
  }

  #newHash(): Hash {
    return createHash(this.#descriptor.digest.split(':')[0]!);
  }

  #wrong(why: string): RpcError {
    return new RpcError(
      status.FAILED_PRECONDITION,
      `the blob ${this.#descriptor.digest} is not what the image says: ${why}`,
    );
  }
}
