import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { toTime } from './entry-facts.js';
import { TOOL_PATH } from '../../process/find-tools.js';
import { RpcError } from '../../rpc-error.js';
import { type TarEntry } from '#base/wire/tar/tar-entry.js';
import { BLOCK } from '#base/wire/tar/tar-header.js';
import { encodeHeader, EntryKind, padding } from '#base/wire/tar/tar-writer.js';

/** The extended attribute that holds what a program may do although its user is not root. */
export const CAPABILITIES = 'security.capability';
/** The name that the file has in the archive for tar, and nothing else. */
const MEMBER = 'file';

/**
 * Replaces a file by the same file with its capabilities. Node cannot write extended attributes, GNU tar can: it gets an
 * archive with this one file and unpacks it into a folder of its own, beside `root`. False where there is no such tar, or
 * the file system or the kernel does not take the attribute: then the file stays as it is; so does a file with holes,
 * which would be filled. `beforeWrite` gets the number of bytes before each write; its errors are passed on.
 */
export async function addCapabilities(
  entry: TarEntry,
  { path, folder, signal, beforeWrite }: CapabilityPlace,
): Promise<boolean> {
  if (entry.stored.size < entry.size) return false;
  const temporary = await mkdtemp(join(folder, 'capabilities-'));
  try {
    const which = ['--xattrs', `--xattrs-include=${CAPABILITIES}`];
    const complaint = await runTar(
      ['-x', '-p', '--same-owner', '--numeric-owner', ...which, '-C', temporary],
      metered(toArchive(entry, path), beforeWrite),
      signal,
    );
    // It only warns, and succeeds, when it could not set the attribute.
    if (complaint !== '') return false;
    const made = join(temporary, MEMBER);
    const mtime = toTime(entry);
    await utimes(made, mtime, mtime);
    await rename(made, path);
    return true;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Where a file is that gets capabilities. */
export interface CapabilityPlace {
  readonly path: string;
  /** Beside the root, on the same file system. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly beforeWrite: (bytes: number) => Promise<void>;
}

async function* metered(
  chunks: AsyncIterable<Buffer>,
  beforeWrite: (bytes: number) => Promise<void>,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    await beforeWrite(chunk.length);
    yield chunk;
  }
}

/** What it says on its error output; empty when all is well. */
async function runTar(
  args: readonly string[],
  input: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<string> {
  const child = spawn('tar', args, {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: TOOL_PATH, LC_ALL: 'C' },
    signal,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text.slice(0, 1_000)));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => resolve(code === 0 ? said.slice(0, 1_000) : `${said}exit code ${code}`));
  });
  // If it ends early, its exit code says more than the broken pipe.
  let refusal: unknown;
  await pipeline(Readable.from(input, { objectMode: false }), child.stdin).catch((error: unknown) => {
    if (error instanceof RpcError) refusal = error;
  });
  const complaint = await ended;
  signal.throwIfAborted();
  if (refusal instanceof RpcError) throw refusal;
  return complaint;
}

async function* toArchive(entry: TarEntry, path: string): AsyncGenerator<Buffer> {
  const { uid, gid, mode, size } = entry;
  const attributes = new Map([[CAPABILITIES, entry.attributes.get(CAPABILITIES)!]]);
  const { file: kind } = EntryKind;
  yield encodeHeader({ name: MEMBER, kind, size, mode, modified: 0, target: '', uid, gid, attributes });
  yield* createReadStream(path) as AsyncIterable<Buffer>;
  yield padding(size);
  yield Buffer.alloc(2 * BLOCK);
}
