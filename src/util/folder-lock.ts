import { mkdir, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type ErrorCode, PodloopError } from './errors.js';
import { readIfThere, writeWhole } from './whole-file.js';

/** A folder that belongs to this process until it is released. */
export interface FolderLock extends AsyncDisposable {
  release(): Promise<void>;
}

/** Who takes a folder, and what somebody is told who comes second. */
export interface FolderLockOptions {
  /** A word for the kind of owner: owners of different kinds are not in each other's way. */
  readonly kind: string;
  /** Who works in it, for the message: `another embedded runtime`. */
  readonly owner: string;
  /** The code of the error. */
  readonly code: ErrorCode;
}

/**
 * Takes a folder for one process, making it when it is missing. The lock is an abstract socket named after the
 * folder's inode: the kernel hands it to one process only and takes it back at its end, however it ends. It holds
 * within one network namespace. Rejects with the code of the options when somebody has it.
 */
export async function lockFolder(folder: string, options: FolderLockOptions): Promise<FolderLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { dev, ino } = await stat(folder, { bigint: true });
  const ownerPath = join(folder, 'owner');
  const server = createServer((connection) => connection.destroy());
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(`\0podloop-${options.kind}-${dev}-${ino}`, resolve);
  }).catch(async (error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const pid = (await readIfThere(ownerPath))?.trim() ?? 'unknown';
    const message = `${options.owner} works in ${folder} (pid ${pid})`;
    throw new PodloopError(options.code, message, { cause: error });
  });
  // Only told to people: a full disk must not keep anybody from starting.
  await writeWhole(ownerPath, `${process.pid}\n`, { durable: false }).catch(() => undefined);
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { release, [Symbol.asyncDispose]: release };
}
