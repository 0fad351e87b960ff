import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { openLinkFree } from '#base/fs/link-free-folder.js';

import { ANNOTATIONS } from './labels.js';
import { type PodPaths } from './pod-paths.js';
import { type ContainerStatus } from './runtime.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Kubernetes' limits of a message. */
const MOST_BYTES = 4096;
const MOST_LOG_BYTES = 2048;
const MOST_LOG_LINES = 80;
/** A line of a log has its time, its stream and a tag in front of it. */
const MOST_RAW_LOG_BYTES = 16 * MOST_LOG_BYTES;
/** What unpacks to more is no log of ours: a file that somebody has put there. */
const MOST_UNPACKED_BYTES = 64 * 1024 * 1024;
const COMPRESSED = '.gz';
/** See `rotatedName` of the log rotation. */
const ROTATED = /^\d{8}-\d{6}(\.gz)?$/;

/**
 * What a container that has ended left as its last words: the end of the file at its terminationMessagePath; if that
 * is empty, it failed, and it asks for that, the end of its log, also where that was rotated. Undefined when there is
 * none.
 *
 * No link is followed and nothing but a plain file is read. Never rejects: what cannot be read is no message.
 *
 * Source: https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
 */
export async function readTerminationMessage(
  podUid: string,
  container: ContainerStatus,
  paths: PodPaths,
): Promise<string | undefined> {
  const { state, name, restartCount, annotations, exitCode, logPath } = container;
  if (state !== 'exited') return undefined;
  const path = annotations[ANNOTATIONS.terminationMessagePath] ?? '';
  const policy = annotations[ANNOTATIONS.terminationMessagePolicy];
  if (path !== '') {
    const file = paths.terminationMessageFile(podUid, name, restartCount);
    const written = await readEnd(file, MOST_BYTES);
    if (written !== '') return written;
  }
  if (policy !== 'FallbackToLogsOnError' || exitCode === 0 || logPath === '') return undefined;
  const logged = endOfLog(await readEndOfLog(logPath));
  return logged === '' ? undefined : logged;
}

/** The last words in a log of CRI's format: `<time> stdout F <text>`, `P` where a line goes on. Pure. */
export function endOfLog(raw: string): string {
  let text = '';
  for (const line of raw.split('\n')) {
    const match = /^\S+ (?:stdout|stderr) ([FP])\S* ?(.*)$/s.exec(line);
    // The first line may be cut.
    if (match !== null) text += `${match[2]!}${match[1] === 'F' ? '\n' : ''}`;
  }
  const lines = text.split('\n');
  const ended = lines.at(-1) === '' ? 1 : 0;
  return endOf(lines.slice(-(MOST_LOG_LINES + ended)).join('\n'), MOST_LOG_BYTES);
}

/**
 * The end of a log over the files that it was rotated into: the newest may be empty, as rotation does not wait for a
 * line. Other containers may write to the folder of a log.
 */
async function readEndOfLog(path: string): Promise<string> {
  try {
    await using folder = await openLinkFree(dirname(path));
    const name = basename(path);
    let raw = await readEnd(join(folder.path, name), MOST_RAW_LOG_BYTES);
    for (const rotated of rotatedFiles(name, await readdir(folder.path))) {
      const room = MOST_RAW_LOG_BYTES - Buffer.byteLength(raw);
      if (room <= 0) break;
      const read = rotated.endsWith(COMPRESSED) ? readEndOfCompressed : readEnd;
      raw = (await read(join(folder.path, rotated), room)) + raw;
    }
    return raw;
  } catch {
    return '';
  }
}

/** Newest first; one that is just being compressed is there twice, and counts once. */
function rotatedFiles(name: string, files: readonly string[]): readonly string[] {
  const there = new Set(files);
  const own = files.filter(
    (file) => file.startsWith(`${name}.`) && ROTATED.test(file.slice(name.length + 1)),
  );
  return own
    .filter((file) => !there.has(file.replace(/\.gz$/, '')) || !file.endsWith(COMPRESSED))
    .sort()
    .reverse();
}

async function readEndOfCompressed(path: string, mostBytes: number): Promise<string> {
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    await using _ = file;
    if (!(await file.stat()).isFile()) return '';
    let end = Buffer.alloc(0);
    let bytes = 0;
    // Unlike `pipe`, this also ends when the file cannot be read to its end.
    await pipeline(file.createReadStream({ autoClose: false }), createGunzip(), async (chunks) => {
      for await (const chunk of chunks) {
        bytes += (chunk as Buffer).length;
        if (bytes > MOST_UNPACKED_BYTES) throw new RangeError('it unpacks to too much');
        end = Buffer.concat([end, chunk as Buffer]).subarray(-mostBytes);
      }
    });
    return wholeCharacters(end, bytes > end.length);
  } catch {
    return '';
  }
}

async function readEnd(path: string, mostBytes: number): Promise<string> {
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const facts = await file.stat();
      if (!facts.isFile()) return '';
      const start = Math.max(0, facts.size - mostBytes);
      const buffer = Buffer.alloc(Math.min(facts.size, mostBytes));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
      return wholeCharacters(buffer.subarray(0, bytesRead), start > 0);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

function endOf(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= mostBytes ? text : wholeCharacters(bytes.subarray(-mostBytes), true);
}

/** Where it was cut, the rest of a character may stand at the beginning. */
function wholeCharacters(bytes: Buffer, isCut: boolean): string {
  let start = 0;
  while (isCut && start < 3 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString('utf8');
}
