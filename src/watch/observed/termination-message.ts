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
const MAX_BYTES = 4096;
const MAX_LOG_BYTES = 2048;
const MAX_LOG_LINES = 80;
/** Room for the time, stream and tag in front of each line of a log. */
const MAX_RAW_LOG_BYTES = 16 * MAX_LOG_BYTES;
/** Anything that unpacks to more is not one of our logs but a file that somebody put there. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;
const COMPRESSED = '.gz';
/** See `rotatedName` of the log rotation. */
const ROTATED = /^\d{8}-\d{6}(\.gz)?$/;

/**
 * The termination message of a container that has ended; undefined if it has none.
 *
 * It is the end of the file at terminationMessagePath. If that is empty, the container failed and it asks for
 * a fallback, it is the end of its log, rotated files included.
 *
 * No link is followed and only regular files are read. Never rejects: an unreadable file means no message.
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
    const written = await readEnd(file, MAX_BYTES);
    if (written !== '') return written;
  }
  if (policy !== 'FallbackToLogsOnError' || exitCode === 0 || logPath === '') return undefined;
  const logged = endOfLog(await readEndOfLog(logPath));
  return logged === '' ? undefined : logged;
}

/**
 * The last lines of a log in CRI's format: `<time> stdout F <text>`, with `P` if the line continues. Pure.
 */
export function endOfLog(raw: string): string {
  let text = '';
  for (const line of raw.split('\n')) {
    const match = /^\S+ (?:stdout|stderr) ([FP])\S* ?(.*)$/s.exec(line);
    // The first line may be cut off.
    if (match !== null) text += `${match[2]!}${match[1] === 'F' ? '\n' : ''}`;
  }
  const lines = text.split('\n');
  const ended = lines.at(-1) === '' ? 1 : 0;
  return endOf(lines.slice(-(MAX_LOG_LINES + ended)).join('\n'), MAX_LOG_BYTES);
}

/**
 * The end of a log across its rotated files.
 *
 * The newest file may be empty, as rotation does not wait for a line. Other containers may write to a log's
 * folder, so nothing in it is trusted.
 */
async function readEndOfLog(path: string): Promise<string> {
  try {
    await using folder = await openLinkFree(dirname(path));
    const name = basename(path);
    let raw = await readEnd(join(folder.path, name), MAX_RAW_LOG_BYTES);
    for (const rotated of rotatedFiles(name, await readdir(folder.path))) {
      const room = MAX_RAW_LOG_BYTES - Buffer.byteLength(raw);
      if (room <= 0) break;
      const read = rotated.endsWith(COMPRESSED) ? readEndOfCompressed : readEnd;
      raw = (await read(join(folder.path, rotated), room)) + raw;
    }
    return raw;
  } catch {
    return '';
  }
}

/** Newest first. A file that is just being compressed exists twice and counts once. */
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
        if (bytes > MAX_UNPACKED_BYTES) throw new RangeError('it unpacks to too much');
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

/** Drops the rest of a character at the beginning of text that was cut. */
function wholeCharacters(bytes: Buffer, isCut: boolean): string {
  let start = 0;
  while (isCut && start < 3 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString('utf8');
}
