import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type FileParts, findPart, readFileParts } from './file-parts.js';
import { type SourcePlace } from './source-place.js';

/** Where this file lies: once the program has been made into a few large files, one of them. */
const OWN_FOLDER = new URL('.', import.meta.url).href;

/** `at URL:1:2`, or behind a name and in parentheses; the URL has no spaces, but may have parentheses of its own. */
const LAST_FRAME = /\n\s*at (?:.* )?\(?(\S+):(\d+):(\d+)\)?$/;

/**
 * Names places in the code, as far as stacks tell: in the files as they were compiled, also for a program that was made into
 * a few large files (`scripts/bundle-program.mjs`), of which each has beside it a file that says where its parts come from.
 */
export class SourcePlaces {
  /** By the large file; undefined for one that says nothing. */
  readonly #parts = new Map<string, FileParts | undefined>();

  /** The place that calls this. With `framesUp`, the place that called the caller, and so on. */
  find(framesUp = 0): SourcePlace {
    const limit = Error.stackTraceLimit;
    // A few frames cost microseconds, the usual ten many more.
    Error.stackTraceLimit = 1 + framesUp;
    const trace: { stack?: string } = {};
    // eslint-disable-next-line @typescript-eslint/unbound-method -- not called: the frame from which the trace is to begin
    Error.captureStackTrace(trace, this.find);
    Error.stackTraceLimit = limit;
    const frame = LAST_FRAME.exec(trace.stack ?? '');
    if (frame === null) return { file: 'unknown', line: 1 };
    const [url, line] = [frame[1]!, Number(frame[2])];
    const { file, line: at } = this.#findCompiled(url, line, Number(frame[3])) ?? { file: url, line };
    return { file: file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1), line: at };
  }

  /** A stack whose frames name the compiled files; what comes from elsewhere stays as it is. */
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
    return readFileParts(readFileSync(fileURLToPath(url.replace(/\.js$/, '.parts'))));
  } catch {
    // As it was compiled, so that the name is right as it is; and who logs is never to fail over its name.
    return undefined;
  }
}
