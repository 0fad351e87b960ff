import { type FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Go's bufio.Scanner, with which a kubelet reads these files, takes no longer line. */
const MAX_LINE_BYTES = 65_535;
/** A kubelet has no such limit; here a container that fills a file does not occupy the agent. */
const MAX_FILE_BYTES = 1024 * 1024;
/** The parser gives way to the event loop after so much: some milliseconds, if each byte is a line. */
const SLICE_BYTES = 16 * 1024;

/** What an env file has for one variable: empty where it does not set it; an Error where a fault stands before it. */
export type EnvFileValue = string | Error;

/** The beginning of an env file; see {@link readEnvFile}. */
export interface EnvFileContent {
  /** One character a byte. */
  readonly text: string;
  /** The file has more than was read. */
  readonly isCut: boolean;
}

/** A file is larger than what is read of it. The message says so, and how much that is. */
export class EnvFileTooLarge extends Error {
  constructor() {
    super(`the file has more than ${MAX_FILE_BYTES} bytes`);
  }
}

/** Reads at most 1 MiB of a file. */
export async function readEnvFile(
  handle: Pick<FileHandle, 'read'>,
  signal: AbortSignal,
): Promise<EnvFileContent> {
  const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
  let size = 0;
  while (size < buffer.length) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, size, buffer.length - size, size);
    if (bytesRead === 0) break;
    size += bytesRead;
  }
  return { text: buffer.toString('latin1', 0, Math.min(size, MAX_FILE_BYTES)), isCut: size > MAX_FILE_BYTES };
}

/**
 * The values of variables in an env file, one character a byte. The first of a name counts.
 *
 * Each variable is `NAME='value'`, whose value may go over several lines and is taken as it is. What is wrong behind a
 * variable does not matter to it; those behind a fault have its Error, in the kubelet's words. Rejects with the signal's
 * reason only.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/3721-support-for-env-files
 */
export async function findInEnvFile(
  content: EnvFileContent,
  keys: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, EnvFileValue>> {
  const found = new Map<string, EnvFileValue>();
  let rest: EnvFileValue = '';
  try {
    for (const assignment of readAssignments(content)) {
      if (assignment === PAUSE) {
        await nextTurn(undefined, { signal });
        continue;
      }
      const { name, value } = assignment;
      if (keys.has(name) && !found.has(name)) found.set(name, value);
      if (found.size === keys.size) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    rest = error as Error;
  }
  for (const key of keys) if (!found.has(key)) found.set(key, rest);
  return found;
}

interface Assignment {
  readonly name: string;
  readonly value: string;
}

/** Stands between assignments wherever the event loop shall turn. */
const PAUSE = 'pause';

function* readAssignments(content: EnvFileContent): Generator<Assignment | typeof PAUSE> {
  const lines = new EnvLines(content);
  for (let text = lines.next(); text !== undefined; text = lines.next()) {
    if (lines.takePause()) yield PAUSE;
    const declaration = text.replace(/^[ \t]+/, '');
    if (declaration === '' || declaration.startsWith('#')) continue;
    const equals = declaration.indexOf('=');
    const name = declaration.slice(0, equals);
    const assigned = declaration.slice(equals + 1);
    if (equals === -1) throw malformed(lines.line, "missing '='");
    if (/^[ \t]*$/.test(name)) throw malformed(lines.line, 'empty variable name');
    if (/[ \t]$/.test(name)) throw malformed(lines.line, "whitespace before '=' is not allowed");
    // As a shell takes it: nothing is assigned.
    if (/^[ \t]/.test(assigned)) yield { name, value: '' };
    else if (assigned.startsWith("'")) yield { name, value: yield* readQuoted(assigned.slice(1), lines) };
    else throw malformed(lines.line, 'value must be enclosed in single quotes');
  }
}

/** The value up to its closing quote; `first` is what stands behind the opening one. */
function* readQuoted(first: string, lines: EnvLines): Generator<typeof PAUSE, string> {
  const startedAt = lines.line;
  const parts: string[] = [];
  for (let text: string | undefined = first; text !== undefined; text = lines.next()) {
    if (lines.takePause()) yield PAUSE;
    const end = text.indexOf("'");
    if (end !== -1) {
      if (!/^[ \t]*(?:#|$)/.test(text.slice(end + 1)))
        throw malformed(lines.line, 'unexpected content after closing quote');
      return [...parts, text.slice(0, end)].join('\n');
    }
    parts.push(text);
  }
  throw new Error(`invalid environment variable format starting at line ${startedAt}: unclosed single quote`);
}

/** The lines of a file, without their ends. */
class EnvLines {
  readonly #content: EnvFileContent;
  #at = 0;
  #pauseAt = SLICE_BYTES;
  #line = 0;

  constructor(content: EnvFileContent) {
    this.#content = content;
  }

  /** The number of the present line, the first being 1. */
  get line(): number {
    return this.#line;
  }

  /** Undefined at the end. Throws for a line that is too long, and where more of the file was not read. */
  next(): string | undefined {
    const { text, isCut } = this.#content;
    const start = this.#at;
    const feed = text.indexOf('\n', start);
    const end = feed === -1 ? text.length : feed;
    if (end - start > MAX_LINE_BYTES) throw new Error('bufio.Scanner: token too long');
    if (feed === -1 && isCut) throw new EnvFileTooLarge();
    this.#line++;
    if (start >= text.length) return undefined;
    this.#at = end + 1;
    return text.slice(start, text[end - 1] === '\r' && end > start ? end - 1 : end);
  }

  /** Whether a slice has gone by since it was last true. */
  takePause(): boolean {
    if (this.#at < this.#pauseAt) return false;
    this.#pauseAt = this.#at + SLICE_BYTES;
    return true;
  }
}

function malformed(line: number, what: string): Error {
  return new Error(`invalid environment variable format at line ${line}: ${what}`);
}
