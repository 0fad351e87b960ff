import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FileParts, findPart, readPartsOf } from './file-parts.js';
import { type SourcePlace } from './source-place.js';

/** The folder of this file; in a bundled program, that of one of its few large files. */
const OWN_FOLDER = new URL('.', import.meta.url).href;

/** Beside the bundled files. It knows all but podloop.js by names that change with what is in them. */
const INDEX_NAME = 'podloop.parts';

/** `at URL:1:2`, or after a name and in parentheses; the URL has no spaces, but may contain parentheses. */
const LAST_FRAME = /\n\s*at (?:.* )?\(?(\S+):(\d+):(\d+)\)?$/;

/**
 * Finds positions in the compiled files by stack traces.
 *
 * This also works for a program that was bundled into a few large files (`scripts/bundle-program.mjs`). Beside them is an index that maps
 * their parts to their sources.
 */
export class SourcePlaces {
  /** By bundled file; undefined for a file without an index. */
  readonly #parts = new Map<string, FileParts | undefined>();

  /** The position of the caller. With `framesUp`, that of the caller's caller, and so on. */
  find(framesUp = 0): SourcePlace {
    const limit = Error.stackTraceLimit;
    // A few frames take microseconds, the usual ten many more.
    Error.stackTraceLimit = 1 + framesUp;
    const trace: { stack?: string } = {};
    // oxlint-disable-next-line typescript/unbound-method -- not called: the frame from which the trace is to begin
    Error.captureStackTrace(trace, this.find);
    Error.stackTraceLimit = limit;
    const frame = LAST_FRAME.exec(trace.stack ?? '');
    if (frame === null) return { file: 'unknown', line: 1 };
    const [url, line] = [frame[1]!, Number(frame[2])];
    const { file, line: at } = this.#findCompiled(url, line, Number(frame[3])) ?? { file: url, line };
    return { file: file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1), line: at };
  }

  /** Translates the frames of a stack to the compiled files; other frames stay as they are. */
  translate(stack: string): string {
    return stack.replaceAll(
      /(file:\S+?):(\d+):(\d+)/g,
      (frame, url: string, line: string, column: string) => {
        const place = this.#findCompiled(url, Number(line), Number(column));
        return place === undefined ? frame : `${new URL(`../${place.file}`, OWN_FOLDER).href}:${place.line}`;
      },
    );
  }

  #findCompiled(url: string, line: number, column: number): SourcePlace | undefined {
    if (!url.startsWith(OWN_FOLDER)) return undefined;
    if (!this.#parts.has(url)) this.#parts.set(url, readParts(url));
    const parts = this.#parts.get(url);
    return parts && findPart(parts, line, column);
  }
}

function readParts(url: string): FileParts | undefined {
  try {
    return readPartsOf(basename(fileURLToPath(url)), new URL(INDEX_NAME, OWN_FOLDER));
  } catch {
    // The file was not bundled, so its name is right; and logging must never fail because of a name.
    return undefined;
  }
}
