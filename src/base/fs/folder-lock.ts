import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Clock } from '../time/clock.js';
import { closeOnFailure } from '../async/close-on-failure.js';
import { ERROR_CODES, type ErrorCode, messageOf, PodloopError } from '../errors/errors.js';
import { makeFolder } from './make-folder.js';
import { findProcess, isAlive, type ProcessIdentity } from '../proc/process-identity.js';
import { systemCodeOf } from '../errors/system-code.js';

/** A folder that belongs to this process until it is released. */
export interface FolderLock extends AsyncDisposable {
  /** Announces a release soon, so that other processes wait for the folder. */
  announceRelease(): Promise<void>;
  /** Idempotent. */
  release(): Promise<void>;
}

/** The name of a folder's lock, and the error for a second owner. */
export interface FolderLockKind {
  /** The kind of owner; owners of different kinds do not exclude each other. */
  readonly kind: string;
  /** The owner in the message: `another embedded runtime`. */
  readonly owner: string;
  /** The code of the error; its remedy is part of the message. */
  readonly code: ErrorCode;
}

/** The lock of an agent's root folder. */
export const NODE_ROOT_LOCK = {
  kind: 'node',
  owner: 'another node agent',
  code: 'NODE_ROOT_IN_USE',
} as const satisfies FolderLockKind;

/** The lock of an embedded runtime's root folder. */
export const RUNTIME_ROOT_LOCK = {
  kind: 'root',
  owner: 'another embedded runtime',
  code: 'RUNTIME_ROOT_IN_USE',
} as const satisfies FolderLockKind;

/** The clock and the signal of {@link lockFolder}. */
export interface LockFolderOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** How long an owner may take to exit, or to write its name, in milliseconds. */
const PATIENCE_MS = 10_000;
const ASK_AGAIN_MS = 100;
/** All names have the same length: on a full disk a file can be overwritten, but not grow. */
const OWNER_LENGTH = 40;
/** flock(1)'s exit code when another process has the lock. */
const TAKEN = 1;

/**
 * Locks a folder for one process, and creates it if it is missing.
 *
 * The lock is flock(2) on a file in the folder, which only the folder's owner may open. The kernel grants it
 * to one process of the machine, whatever its namespaces, and releases it when that process ends in any way.
 * The file names the owner. If the lock is taken but the file names no living process, the owner is just
 * ending or starting, so this waits for it. Rejects with the code of the kind if another process has the
 * folder.
 */
export async function lockFolder(
  folder: string,
  kind: FolderLockKind,
  { clock, signal }: LockFolderOptions,
): Promise<FolderLock> {
  await makeFolder(folder, 0o700);
  const untilMs = clock.monotonicMs() + PATIENCE_MS;
  for (;;) {
    const file = await openLockFile(folder, kind);
    const { isTaken, owner } = await closeOnFailure(file, async () => {
      if (!(await takeLock(file, folder))) return { isTaken: false, owner: await readOwner(file) };
      await writeOwner(file, ownName());
      return { isTaken: true, owner: undefined };
    });
    if (isTaken) return asLock(file);
    await file.close();
    if ((owner !== undefined && isAlive(owner)) || clock.monotonicMs() >= untilMs)
      throw inUse(folder, kind, owner);
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}

/**
 * Locks a folder only if it has no owner, without writing a name, so that the next owner waits meanwhile.
 *
 * It is for work that must end with the owner, but not while another owner is coming. It creates nothing in a
 * folder that is being removed: it rejects with ENOENT if the folder never had an owner, or is gone.
 */
export async function findOwnerless(folder: string, kind: FolderLockKind): Promise<FolderLock | undefined> {
  const file = await openLockFile(folder, kind, 0);
  const isTaken = await closeOnFailure(file, async () => {
    const owner = await readOwner(file);
    return (owner === undefined || !isAlive(owner)) && (await takeLock(file, folder));
  });
  if (isTaken) return asLock(file);
  await file.close();
  return undefined;
}

/** The process that has the folder, as far as its lock names one that lives; undefined otherwise. Never rejects. */
export async function findLockOwner(folder: string, kind: FolderLockKind): Promise<number | undefined> {
  try {
    await using file = await open(
      join(folder, `${kind.kind}.lock`),
      constants.O_RDONLY | constants.O_NOFOLLOW,
    );
    const owner = await readOwner(file);
    return owner !== undefined && isAlive(owner) ? owner.pid : undefined;
  } catch {
    return undefined;
  }
}

function openLockFile(
  folder: string,
  { kind }: FolderLockKind,
  creation = constants.O_CREAT,
): Promise<FileHandle> {
  const { O_RDWR, O_NOFOLLOW } = constants;
  return open(join(folder, `${kind}.lock`), O_RDWR | O_NOFOLLOW | creation, 0o600);
}

function asLock(file: FileHandle): FolderLock {
  let closing: Promise<void> | undefined;
  const announceRelease = async (): Promise<void> => writeOwner(file, '');
  const release = (): Promise<void> => (closing ??= announceRelease().then(() => file.close()));
  return { announceRelease, release, [Symbol.asyncDispose]: release };
}

/**
 * The lock belongs to the open file: a child that shares the file takes it, and it stays when the child
 * exits.
 */
async function takeLock(file: FileHandle, folder: string): Promise<boolean> {
  try {
    const child: ChildProcess = spawn('flock', ['-x', '-n', '3'], {
      stdio: ['ignore', 'ignore', 'pipe', file.fd],
    });
    const words = text(child.stderr!);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === 0) return true;
    if (code === TAKEN) return false;
    throw new Error((await words).trim() || `flock ended with ${String(code)}`);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') {
      throw new PodloopError('PLATFORM_UNSUPPORTED', 'the program flock of util-linux is missing', {
        cause: error,
      });
    }
    const message = `${folder} cannot be locked, use a folder on a disk of this machine: ${messageOf(error)}`;
    throw new PodloopError('OPTION_INVALID', message, { cause: error });
  }
}

function ownName(): string {
  const self = findProcess(process.pid);
  return self === undefined ? '' : `${self.pid} ${self.startTicks}`;
}

/** Informs only people and waiting processes: a full disk must not prevent a start. */
async function writeOwner(file: FileHandle, name: string): Promise<void> {
  await file.write(`${name.padEnd(OWNER_LENGTH - 1)}\n`, 0).catch(() => undefined);
}

async function readOwner(file: FileHandle): Promise<ProcessIdentity | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(OWNER_LENGTH), 0, OWNER_LENGTH, 0);
  const [, pid, startTicks] = /^(\d+) (\d+) *\n$/.exec(buffer.toString('latin1', 0, bytesRead)) ?? [];
  return pid === undefined || startTicks === undefined ? undefined : { pid: Number(pid), startTicks };
}

function inUse(
  folder: string,
  { owner, code }: FolderLockKind,
  named: ProcessIdentity | undefined,
): PodloopError {
  const pid = named === undefined ? '' : ` (pid ${named.pid})`;
  const { remedy } = ERROR_CODES[code];
  const hint = remedy[0]!.toLowerCase() + remedy.slice(1).replace(/\.$/, '');
  return new PodloopError(code, `${owner} works in ${folder}${pid}: ${hint}`);
}
