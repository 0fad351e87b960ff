import { isUtf8 } from 'node:buffer';
import { type Stats } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { failure } from '../command-failure.js';
import { BLOCK_BYTES, encodeHeader, EntryKind, padding } from './tar-header.js';

const CHUNK_BYTES = 64 * 1024;

/** Told of what is left out: sockets, pipes, devices (`special file`), and names and targets that are no text. */
export type OnSkipped = (path: string, what: string) => void;

/**
 * A file or folder as a tar under another name: links as links, folders by what is in them. Throws a CommandFailure when
 * a file is gone, or gets shorter, meanwhile.
 */
export async function* writeTar(
  path: string,
  name: string,
  onSkipped: OnSkipped,
): AsyncGenerator<Buffer, void, undefined> {
  yield* writeEntry(path, name, onSkipped);
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* writeEntry(
  path: string,
  name: string,
  onSkipped: OnSkipped,
): AsyncGenerator<Buffer, void, undefined> {
  const stats = await lstat(path);
  if (stats.isDirectory()) {
    const inside = await readNames(path, onSkipped);
    if (inside.length === 0)
      yield encodeHeader(toHeader(stats, { name: `${name}/`, kind: EntryKind.folder, size: 0 }));
    for (const one of inside) yield* writeEntry(join(path, one), `${name}/${one}`, onSkipped);
  } else if (stats.isSymbolicLink()) {
    const target = asText(await readlink(path, { encoding: 'buffer' }));
    if (target === undefined) onSkipped(path, 'link whose target is not UTF-8');
    else yield encodeHeader(toHeader(stats, { name, kind: EntryKind.link, size: 0, target }));
  } else if (stats.isFile()) {
    yield* writeFile(path, name);
  } else {
    onSkipped(path, 'special file');
  }
}

/** Sorted. Names are text from here on: one that is none cannot be opened again by what it reads as. */
async function readNames(path: string, onSkipped: OnSkipped): Promise<string[]> {
  const names: string[] = [];
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    const text = asText(name);
    if (text !== undefined) names.push(text);
    else onSkipped(join(path, name.toString('utf8')), 'file whose name is not UTF-8');
  }
  return names.sort();
}

function asText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

async function* writeFile(path: string, name: string): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path, 'r');
  try {
    const stats = await file.stat();
    const { size } = stats;
    yield encodeHeader(toHeader(stats, { name, kind: EntryKind.file, size }));
    for (let at = 0; at < size;) {
      // What is read is handed on, so each piece is of its own.
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) throw failure(`${path} got shorter while it was copied`);
      yield chunk.subarray(0, bytesRead);
      at += bytesRead;
    }
    yield padding(size);
  } finally {
    await file.close();
  }
}

function toHeader(
  { mode, mtimeMs }: Stats,
  entry: { readonly name: string; readonly kind: string; readonly size: number; readonly target?: string },
): Parameters<typeof encodeHeader>[0] {
  return { target: '', ...entry, mode: mode & 0o7777, modified: mtimeMs / 1000 };
}
