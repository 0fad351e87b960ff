import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { findInExecutable } from '#base/program/executable-files.js';

/** A file of the page. */
export interface PageFile {
  readonly contentType: string;
  /** As it is stored. */
  readonly brotli: Buffer;
  /** Decompressed once: all answers share its bytes, however many clients wait for them. After a failure it is tried again. */
  readonly plain: () => Promise<Buffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The paths of the page, and the files behind them. */
const FILES: Readonly<Record<string, string>> = {
  '/': 'page.html',
  '/page.js': 'page.js',
  '/terminal.js': 'terminal.js',
  '/page.css': 'page.css',
  '/icon.svg': 'page.svg',
};

const decompress = promisify(brotliDecompress);

/** The files of the page, which the build has put beside the program, compressed with brotli. */
export class PageFiles {
  readonly #folder: URL;
  readonly #files = new Map<string, PageFile>();

  /** `folder` ends with a slash (default: the folder of the program). */
  constructor(folder = new URL('./', import.meta.url)) {
    this.#folder = folder;
  }

  /** Undefined for a path that the page does not have. Rejects if a file of the program is missing. */
  async find(path: string): Promise<PageFile | undefined> {
    const name = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
    if (name === undefined) return undefined;
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const place = new URL(`${name}.br`, this.#folder);
    const brotli = findInExecutable(place) ?? (await readFile(place));
    let plain: Promise<Buffer> | undefined;
    const tryDecompress = (): Promise<Buffer> =>
      decompress(brotli).catch((error: unknown) => {
        // It may have been for want of memory.
        plain = undefined;
        throw error;
      });
    const file: PageFile = {
      ...{ contentType: TYPES[name.split('.')[1]!]!, brotli },
      plain: () => (plain ??= tryDecompress()),
    };
    this.#files.set(name, file);
    return file;
  }

  /** The text of a path that the page has. */
  async readText(path: string): Promise<string> {
    const file = (await this.find(path))!;
    return (await file.plain()).toString('utf8');
  }
}

/** The bytes for a client, and how they are encoded: not every browser takes brotli without TLS. */
export async function encodeFor(
  accepted: string | undefined,
  { brotli, plain }: PageFile,
): Promise<{ readonly bytes: Buffer; readonly encoding?: 'br' }> {
  const codings = (accepted ?? '').split(',').map((each) => each.trim().toLowerCase());
  const takesBrotli = codings.some((each) => /^br(?:;\s*q=(?:1(?:\.0*)?|0\.\d*[1-9]\d*))?$/.test(each));
  return takesBrotli ? { bytes: brotli, encoding: 'br' } : { bytes: await plain() };
}
