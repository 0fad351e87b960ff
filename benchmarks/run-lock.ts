import { link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProcess, isAlive, type ProcessIdentity } from '#base/proc/process-identity.js';
import { readIfThere } from '#base/fs/whole-file.js';

/**
 * Takes a file for this process until the returned lock is disposed of. Rejects, with a message for people, while the
 * process that it names is alive; one that was killed is passed over.
 *
 * The file is there with its content or not at all, and who finds a stale one moves it aside before it makes its own: of
 * two that do so at once, one fails to make its own.
 */
export async function takeRunLock(file: string): Promise<AsyncDisposable> {
  const self = findProcess(process.pid);
  if (self === undefined) throw new Error(`process ${process.pid} is not in /proc`);
  const own = `${file}.${process.pid}`;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(own, `${self.pid} ${self.startTicks}\n`);
  try {
    const owner = await readOwner(file);
    if (owner !== undefined && isAlive(owner)) throw inUse(owner);
    if (owner !== undefined) await moveAside(file, `${own}.stale`);
    await link(own, file).catch(async (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw inUse(await readOwner(file));
      throw error;
    });
  } finally {
    await rm(own, { force: true });
  }
  return { [Symbol.asyncDispose]: async () => rm(file, { force: true }) };
}

async function moveAside(file: string, stale: string): Promise<void> {
  await rename(file, stale).catch(() => undefined);
  const moved = await readOwner(stale);
  // Somebody else was quicker, and it is their new one: back with it.
  if (moved !== undefined && isAlive(moved)) await link(stale, file).catch(() => undefined);
  await rm(stale, { force: true });
}

/** Undefined when there is none. One that cannot be read names nobody who is alive. */
async function readOwner(file: string): Promise<ProcessIdentity | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const [pid = '', startTicks = ''] = text.trim().split(' ');
  return { pid: Number.parseInt(pid, 10), startTicks };
}

function inUse(owner: ProcessIdentity | undefined): Error {
  const who = owner === undefined ? '' : ` (process ${owner.pid})`;
  return new Error(
    `another run that keeps results is at work${who}: each would make the other's figures worse; wait for its end`,
  );
}
