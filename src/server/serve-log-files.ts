/**
 * The node's log folder over HTTP, read-only: indexes, files, and parts of files.
 *
 * In: paths below one folder. Out: what is there, as a kubelet's /logs/ shows it. Links are followed where they lead to a
 * place below the folder; what is opened is opened step by step and through no link, so that one that is put in the way
 * meanwhile leads nowhere.
 *
 * @module
 */
import { type FileHandle, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ApiError } from './api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest } from './api-request.js';
import { LogFolder } from './logs/log-folder.js';
import { readRange, type WantedRange } from './logs/read-range.js';

/** More names than that are not shown. */
const MOST_NAMES = 10_000;
const BLOCK_BYTES = 64 * 1024;
const NO_SNIFFING = { 'X-Content-Type-Options': 'nosniff' };

/** GET /logs/ and everything below. */
export function serveLogFiles(logsDir: string): ApiHandler {
  return async (request) => {
    const names = readNames(request);
    const root = await realpath(logsDir).catch(() => undefined);
    const target =
      root === undefined ? undefined : await realpath(join(root, ...names)).catch(() => undefined);
    if (root === undefined || target === undefined) throw notFound();
    const place = relative(root, target)
      .split(sep)
      .filter((name) => name !== '');
    if (place.includes('..')) throw notFound();
    const folder = await LogFolder.open(root, place);
    if (folder !== undefined) {
      await using _ = folder;
      return request.path.endsWith('/') ? await showIndex(folder) : moveTo(`${names.at(-1) ?? 'logs'}/`);
    }
    const name = place.pop() ?? '';
    await using holder = await LogFolder.open(root, place);
    const file = await holder?.openFile(name);
    if (file === undefined) throw notFound();
    return await showFile(file, name, request);
  };
}

/** The names of a path, decoded. Throws what a path is refused with that could mean another place than it says. */
function readNames({ params, path }: ApiRequest): string[] {
  const names = (params['*'] ?? '').split('/').filter((name) => name !== '' && name !== '.');
  const isOdd =
    /%2f|%5c|%00|[\\\0]/i.test(path) || names.some((name) => name === '..' || /[\\\0]/.test(name));
  if (isOdd) throw new ApiError('BadRequest', 'invalid URL path');
  return names;
}

async function showIndex(folder: LogFolder): Promise<ApiAnswer> {
  const all = await readdir(folder.path, { withFileTypes: true });
  const entries = all.slice(0, MOST_NAMES);
  const names = await Promise.all(
    entries.map(async (entry) => {
      const isFolder = entry.isSymbolicLink()
        ? await stat(join(folder.path, entry.name)).then(
            (facts) => facts.isDirectory(),
            () => false,
          )
        : entry.isDirectory();
      return isFolder ? `${entry.name}/` : entry.name;
    }),
  );
  const lines = names.sort().map((name) => `<a href="./${encodeName(name)}">${escapeHtml(name)}</a>\n`);
  const more = all.length > entries.length ? `and ${all.length - entries.length} more\n` : '';
  return {
    ...{ kind: 'bytes', contentType: 'text/html; charset=utf-8', headers: NO_SNIFFING },
    body: Buffer.from(`<!doctype html>\n<pre>\n${lines.join('')}${more}</pre>\n`),
  };
}

function moveTo(place: string): ApiAnswer {
  const headers = { Location: encodeName(place) };
  return { kind: 'text', code: 301, body: 'Moved Permanently\n', headers };
}

/** Closes the file in the end, in any case. */
async function showFile(file: FileHandle, name: string, { headers, signal }: ApiRequest): Promise<ApiAnswer> {
  try {
    const { size, mtime } = await file.stat();
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
      pieces: blocksOf(file, { first, end }, signal),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* blocksOf(
  file: FileHandle,
  { first, end }: WantedRange,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using _ = file;
  for (let offset = first; offset < end && !signal.aborted;) {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, end - offset));
    const { bytesRead } = await file.read(block, 0, block.length, offset);
    // It was cut short meanwhile: the length that was promised cannot be kept, and the connection breaks off.
    if (bytesRead === 0) throw new Error('the file has become shorter');
    offset += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}

/** Nothing that a browser would run. */
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
