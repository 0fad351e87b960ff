import { lstat, open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { measureCriLog } from './cri-log-format.js';
import { RecordFile } from '#base/fs/record-file.js';

/** How far output was carried from the spools into the log. */
export interface LogPosition {
  /** Which file the log was: its inode. A path names another file after a rotation. */
  readonly inode: string;
  /** Bytes of the log that are accounted for in the two below. */
  readonly logBytes: number;
  /** Bytes of each spool that are in the log. */
  readonly stdout: number;
  readonly stderr: number;
  /** Everything is carried and the container has ended. */
  readonly final: boolean;
}

/**
 * The file of a position. Not durable on purpose: after the loss of power the spools' own ends are as uncertain.
 */
function fileOf(path: string): RecordFile<LogPosition> {
  return new RecordFile({ path, parse, durable: false });
}

/**
 * Reads a position, or undefined when there is none yet, or none any more: the loss of power may have left an empty file.
 */
export async function readLogPosition(path: string): Promise<LogPosition | undefined> {
  return fileOf(path).read(() => undefined);
}

/** Writes a position. */
export async function writeLogPosition(path: string, position: LogPosition): Promise<void> {
  await fileOf(path).write(position);
}

function parse(content: Readonly<Record<string, unknown>>): LogPosition {
  const { inode, logBytes, stdout, stderr, final } = content as Partial<LogPosition>;
  const position = { inode, logBytes, stdout, stderr, final };
  const isWhole = [logBytes, stdout, stderr].every(Number.isSafeInteger) && typeof inode === 'string';
  if (!isWhole || typeof final !== 'boolean') throw new Error('it is no position');
  return position as LogPosition;
}

/** The state of a log after a crash of whoever wrote it. */
export interface RecoveredPosition {
  readonly stdout: number;
  readonly stderr: number;
  /** The file that was written, and where its last whole line ends, when it ends in a torn one. */
  readonly torn: { readonly path: string; readonly wholeBytes: number } | undefined;
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * Finds out how much output is in a log beyond the last recorded position, by reading the log itself. That is why
 * a killed runtime neither loses nor doubles a line.
 */
export async function recoverPosition(position: LogPosition, logPath: string): Promise<RecoveredPosition> {
  const path = await findByInode(logPath, position.inode);
  let { stdout, stderr, logBytes } = position;
  if (path === undefined) return { stdout, stderr, torn: undefined };
  await using file = await open(path, 'r');
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, logBytes);
    const content = measureCriLog(buffer.subarray(0, bytesRead));
    stdout += content.stdout;
    stderr += content.stderr;
    logBytes += content.wholeBytes;
    if (content.wholeBytes > 0) continue;
    const torn = bytesRead > 0 ? { path, wholeBytes: logBytes } : undefined;
    return { stdout, stderr, torn };
  }
}

/** The log, or the file beside it that a rotation has made of it. */
async function findByInode(logPath: string, inode: string): Promise<string | undefined> {
  const folder = dirname(logPath);
  const names = await readdir(folder).catch(() => []);
  for (const path of [logPath, ...names.map((name) => join(folder, name))]) {
    const facts = await lstat(path, { bigint: true }).catch(() => undefined);
    if (facts?.isFile() === true && String(facts.ino) === inode) return path;
  }
  return undefined;
}
