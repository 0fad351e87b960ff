import { isUtf8 } from 'node:buffer';
import { type Stats } from 'node:fs';
import { open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openPlace } from '#base/fs/open-below.js';
import { pathOfHandle } from '#base/fs/path-of-handle.js';
import { failure } from '../../command-failure.js';
import { naming } from './naming.js';
import { BLOCK } from '#base/wire/tar/tar-header.js';
import { encodeHeader, EntryKind, padding } from '#base/wire/tar/tar-writer.js';

const CHUNK_BYTES = 64 * 1024;

/** Called for what is left out: sockets, pipes, devices (`special file`), and names and targets that are no text. */
export type OnSkipped = (path: string, what: string) => void;

/** What is sent: what it is called here, by which path it is reached, and its name in the tar. */
interface Source {
  readonly shown: string;
  readonly path: string;
  readonly name: string;
}

/**
 * A file or folder as a tar under another name: links as links, folders by what is in them. Throws a CommandFailure when
 * a file is gone, or gets shorter, meanwhile.
 *
 * A container may write to what is sent. So each folder stays open while its names are opened in it, none of them
 * through a link, and what is sent is what was looked at: no pipe is waited for, and no device is opened.
 */
export async function* writeTar(
  path: string,
  name: string,
  onSkipped: OnSkipped,
): AsyncGenerator<Buffer, void, undefined> {
  yield* writeEntry({ shown: path, path, name }, onSkipped);
  yield Buffer.alloc(2 * BLOCK);
}

async function* writeEntry(source: Source, onSkipped: OnSkipped): AsyncGenerator<Buffer, void, undefined> {
  const { shown, path, name } = source;
  await using place = await naming(shown, () => openPlace(path));
  const { facts, handle } = place;
  const at = pathOfHandle(handle);
  if (facts.isDirectory()) {
    const inside = await naming(shown, () => readNames(at, shown, onSkipped));
    if (inside.length === 0)
      yield encodeHeader(toHeader(facts, { name: `${name}/`, kind: EntryKind.folder, size: 0 }));
    for (const one of inside) {
      const below = { shown: join(shown, one), path: join(at, one), name: `${name}/${one}` };
      yield* writeEntry(below, onSkipped);
    }
  } else if (facts.isSymbolicLink()) {
    // By its name: what an open link says cannot be read from Node. One that took its place is a link of that folder, too.
    const target = asText(await naming(shown, () => readlink(path, { encoding: 'buffer' })));
    if (target === undefined) onSkipped(shown, 'link whose target is not UTF-8');
    else yield encodeHeader(toHeader(facts, { name, kind: EntryKind.link, size: 0, target }));
  } else if (facts.isFile()) {
    yield* writeFile({ ...source, path: at });
  } else {
    onSkipped(shown, 'special file');
  }
}

/** Sorted. Names are text from here on: one that is none cannot be opened again by what it reads as. */
async function readNames(path: string, shown: string, onSkipped: OnSkipped): Promise<string[]> {
  const names: string[] = [];
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    const text = asText(name);
    if (text !== undefined) names.push(text);
    else onSkipped(join(shown, name.toString('utf8')), 'file whose name is not UTF-8');
  }
  return names.sort();
}

function asText(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

async function* writeFile({ shown, path, name }: Source): AsyncGenerator<Buffer, void, undefined> {
  const file = await naming(shown, () => open(path, 'r'));
  try {
    const stats = await file.stat();
    const { size } = stats;
    yield encodeHeader(toHeader(stats, { name, kind: EntryKind.file, size }));
    for (let at = 0; at < size;) {
      // What is read is handed on, so each piece is of its own.
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) throw failure(`${shown} got shorter while it was copied`);
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
