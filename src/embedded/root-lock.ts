import { mkdir, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PodloopError } from '../util/errors.js';
import { readIfThere, writeWhole } from './record-file.js';

/** A folder that belongs to this process until it is released. */
export interface RootLock extends AsyncDisposable {
  release(): Promise<void>;
}

/**
 * Takes a root folder for one runtime. The lock is an abstract socket named after the folder's inode: the kernel
 * hands it to one process only and takes it back at its end, however it ends. It holds within one network
 * namespace.
 */
export async function lockRoot(rootDir: string): Promise<RootLock> {
  await mkdir(rootDir, { recursive: true, mode: 0o700 });
  const { dev, ino } = await stat(rootDir, { bigint: true });
  const ownerPath = join(rootDir, 'owner');
  const server = createServer((connection) => connection.destroy());
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(`\0podloop-root-${dev}-${ino}`, resolve);
  }).catch(async (error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const owner = (await readIfThere(ownerPath))?.trim() ?? 'unknown';
    const message = `another embedded runtime works in ${rootDir} (pid ${owner})`;
    throw new PodloopError('RUNTIME_ROOT_IN_USE', message, { cause: error });
  });
  // Only told to people: a full disk must not keep a runtime from starting.
  await writeWhole(ownerPath, `${process.pid}\n`, { durable: false }).catch(() => undefined);
  const release = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { release, [Symbol.asyncDispose]: release };
}
