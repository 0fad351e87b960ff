/**
 * The node's log folder over HTTP, read-only: indexes, files, and parts of files.
 *
 * In: paths below one folder. Out: its contents, as a kubelet's /logs/ shows them. Links are followed if they
 * lead to a place below the folder. Files are opened step by step and through no link, so that a link that
 * appears meanwhile leads nowhere. It assumes that a file may never answer, as on a mount whose server is
 * gone: few are accessed at a time, and nothing outside of the folder.
 *
 * @module
 */
import { type Dirent, type Stats } from 'node:fs';
import { type FileHandle, lstat, readdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { closeOnFailure } from '#base/async/close-on-failure.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { ApiError } from '../http/api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { LogFolder } from '../logs/log-folder.js';
import { readRange, type WantedRange } from '../logs/read-range.js';
import { resolveInside } from '../logs/resolve-inside.js';

type Roots = Parameters<typeof resolveInside>[0];
/** Reads into a block, as a file does. */
type ReadBlock = (
  block: Buffer,
  offset: number,
  length: number,
  position: number,
) => Promise<{ readonly bytesRead: number }>;

/** Maximum of names in an index. */
const MAX_NAMES = 10_000;
const BLOCK_BYTES = 64 * 1024;
const NO_SNIFFING = { 'X-Content-Type-Options': 'nosniff' };

/** Accesses files of the node, few at a time; rejects when one does not answer. */
export interface FileLooks {
  /** `discard` gets a late result. */
  run<Found>(place: string, look: () => Promise<Found>, discard?: (late: Found) => void): Promise<Found>;
}

/** What {@link serveLogFiles} needs. */
export interface LogFilesOptions {
  readonly logsDir: string;
  readonly looks: FileLooks;
}

/** The content of a place. */
type Found =
  | { readonly kind: 'folder'; readonly roots: Roots; readonly place: string[]; readonly entries: Dirent[] }
  | { readonly kind: 'file'; readonly name: string; readonly file: FileHandle; readonly facts: Stats };

interface ShownFile extends Extract<Found, { kind: 'file' }> {
  readonly read: ReadBlock;
}

/** GET /logs/ and everything below. */
export function serveLogFiles({ logsDir, looks }: LogFilesOptions): ApiHandler {
  return async (request) => {
    const names = readNames(request);
    const path = join(logsDir, ...names);
    const found = await looks
      .run(
        path,
        () => find(logsDir, names),
        (late) => void (late.kind === 'file' && late.file.close().catch(() => undefined)),
      )
      .catch(refuseUnreadable);
    if (found.kind === 'file') {
      const { file } = found;
      const read: ReadBlock = async (...part) => looks.run(path, async () => file.read(...part));
      return showFile({ ...found, read }, request);
    }
    return request.path.endsWith('/') ? showIndex(found, looks) : moveTo(`${names.at(-1) ?? 'logs'}/`);
  };
}

async function find(logsDir: string, names: readonly string[]): Promise<Found> {
  const root = await realpath(logsDir).catch(() => undefined);
  if (root === undefined) throw notFound();
  const roots = [root, resolve(logsDir)] as const;
  const place = await resolveInside(roots, names);
  if (place === undefined) throw notFound();
  await using folder = await LogFolder.open(root, place);
  if (folder !== undefined) {
    return { kind: 'folder', roots, place, entries: await readdir(folder.path, { withFileTypes: true }) };
  }
  await using holder = await LogFolder.open(root, place.slice(0, -1));
  const name = place.at(-1) ?? '';
  const file = await holder?.openFile(name);
  if (file === undefined) throw notFound();
  return { kind: 'file', name, file, facts: await closeOnFailure(file, () => file.stat()) };
}

function refuseUnreadable(error: unknown): never {
  const code = systemCodeOf(error);
  if (code === 'EACCES' || code === 'EPERM') throw new ApiError('Forbidden', '403 Forbidden');
  throw error;
}

/** The names of a path, decoded. Throws for a path that could mean another place than it says. */
function readNames({ params, path }: ApiRequest): string[] {
  const names = (params['*'] ?? '').split('/').filter((name) => name !== '' && name !== '.');
  const isOdd =
    /%2f|%5c|%00|[\\\0]/i.test(path) || names.some((name) => name === '..' || /[\\\0]/.test(name));
  if (isOdd) throw new ApiError('BadRequest', 'invalid URL path');
  return names;
}

async function showIndex(
  { roots, place, entries: all }: Extract<Found, { kind: 'folder' }>,
  looks: FileLooks,
): Promise<ApiAnswer> {
  const entries = all.slice(0, MAX_NAMES);
  const names: string[] = [];
  let isSilent = false;
  // One after the other, and none after one that does not answer: each would take a thread, and its time.
  for (const entry of entries) {
    let isFolder: boolean | undefined = entry.isDirectory();
    if (entry.isSymbolicLink() && !isSilent) {
      const look = async (): Promise<boolean> => leadsToFolder(roots, [...place, entry.name]);
      isFolder = await looks.run(join(roots[0], ...place, entry.name), look).catch(() => undefined);
      isSilent = isFolder === undefined;
    }
    names.push(isFolder === true ? `${entry.name}/` : entry.name);
  }
  const lines = names.sort().map((name) => `<a href="./${encodeName(name)}">${escapeHtml(name)}</a>\n`);
  const more = all.length > entries.length ? `and ${all.length - entries.length} more\n` : '';
  return {
    ...{ kind: 'bytes', contentType: 'text/html; charset=utf-8', headers: NO_SNIFFING },
    body: Buffer.from(`<!doctype html>\n<pre>\n${lines.join('')}${more}</pre>\n`),
  };
}

/** Never rejects. */
async function leadsToFolder(roots: Roots, names: readonly string[]): Promise<boolean> {
  try {
    const place = await resolveInside(roots, names);
    return place !== undefined && (await lstat(join(roots[0], ...place))).isDirectory();
  } catch {
    return false;
  }
}

function moveTo(place: string): ApiAnswer {
  const headers = { Location: encodeName(place) };
  return { kind: 'text', code: 301, body: 'Moved Permanently\n', headers };
}

/** Always closes the file in the end. */
async function showFile(
  { file, facts: { size, mtime }, name, read }: ShownFile,
  { headers, signal }: ApiRequest,
): Promise<ApiAnswer> {
  try {
    const modified = mtime.toUTCString();
    const common = { 'Accept-Ranges': 'bytes', 'Last-Modified': modified, ...NO_SNIFFING };
    const isOlder =
      Date.parse(String(headers['if-modified-since'])) >= Math.trunc(mtime.getTime() / 1_000) * 1_000;
    if (headers['range'] === undefined && isOlder) {
      await file.close();
      return { kind: 'text', code: 304, body: '', headers: common };
    }
    const isOther = headers['if-range'] !== undefined && headers['if-range'] !== modified;
    const range = isOther ? undefined : readRange(String(headers['range'] ?? ''), size);
    if (range === 'unsatisfiable') {
      await file.close();
      const beyond = { ...common, 'Content-Range': `bytes */${size}` };
      return { kind: 'text', code: 416, body: 'invalid range: failed to overlap\n', headers: beyond };
    }
    const { first, end } = range ?? { first: 0, end: size };
    const part: Readonly<Record<string, string>> =
      range === undefined ? {} : { 'Content-Range': `bytes ${first}-${end - 1}/${size}` };
    return {
      ...{ kind: 'stream', code: range === undefined ? 200 : 206, contentType: typeOf(name) },
      headers: { ...common, ...part, 'Content-Length': String(end - first) },
      abortCutsOff: true,
      pieces: blocksOf(file, read, { first, end }, signal),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* blocksOf(
  file: FileHandle,
  read: ReadBlock,
  { first, end }: WantedRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (let offset = first; offset < end && !signal.aborted;) {
      const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, end - offset));
      const { bytesRead } = await read(block, 0, block.length, offset);
      // The file was truncated meanwhile: the announced length is no longer possible, so the connection
      // breaks off.
      if (bytesRead === 0) throw new Error('the file has become shorter');
      offset += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  } finally {
    // After a read that does not answer, it would wait as long.
    void file.close().catch(() => undefined);
  }
}

/** Types that no browser runs. */
function typeOf(name: string): string {
  return /\.(gz|xz|zst|bz2|journal~?)$/.test(name) || ['wtmp', 'btmp', 'lastlog'].includes(name)
    ? 'application/octet-stream'
    : 'text/plain; charset=utf-8';
}

function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll('%2F', '/');
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (each) => entities[each]!);
}

function notFound(): ApiError {
  return new ApiError('NotFound', '404 page not found');
}
