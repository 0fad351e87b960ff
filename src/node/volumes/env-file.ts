import { type FileHandle } from 'node:fs/promises';

/** Go's bufio.Scanner, with which a kubelet reads these files, takes no longer line. */
const MAX_LINE_BYTES = 65_535;
/** A kubelet reads on; here a container that fills a file does not keep the agent reading. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * The value of a variable in an env file; empty where the file does not set it, or sets it to nothing.
 *
 * Each variable is `NAME='value'`, whose value may go over several lines and is taken as it is. Reading ends at the variable:
 * what is wrong behind it does not matter. Throws an Error in the kubelet's words for anything else.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/3721-support-for-env-files
 *
 * @param lines without their ends, one character a byte.
 */
export async function findInEnvFile(lines: AsyncIterable<string, undefined>, key: string): Promise<string> {
  const reader = lines[Symbol.asyncIterator]();
  let line = 0;
  const next = async (): Promise<string | undefined> => {
    const { value } = await reader.next();
    line++;
    return value;
  };
  for (let text = await next(); text !== undefined; text = await next()) {
    const declaration = text.replace(/^[ \t]+/, '');
    if (declaration === '' || declaration.startsWith('#')) continue;
    const equals = declaration.indexOf('=');
    const name = declaration.slice(0, equals);
    const assigned = declaration.slice(equals + 1);
    if (equals === -1) throw malformed(line, "missing '='");
    if (/^[ \t]*$/.test(name)) throw malformed(line, 'empty variable name');
    if (/[ \t]$/.test(name)) throw malformed(line, "whitespace before '=' is not allowed");
    if (/^[ \t]/.test(assigned)) {
      // As a shell takes it: nothing is assigned.
      if (name === key) return '';
      continue;
    }
    if (!assigned.startsWith("'")) throw malformed(line, 'value must be enclosed in single quotes');
    const value = await readQuoted(assigned.slice(1), next, () => line);
    if (name === key) return value;
  }
  return '';
}

/** The value up to its closing quote; `rest` is what stands behind the opening one. */
async function readQuoted(
  rest: string,
  next: () => Promise<string | undefined>,
  lineNow: () => number,
): Promise<string> {
  const startedAt = lineNow();
  const parts: string[] = [];
  for (;;) {
    const end = rest.indexOf("'");
    if (end !== -1) {
      if (!/^[ \t]*(?:#|$)/.test(rest.slice(end + 1)))
        throw malformed(lineNow(), 'unexpected content after closing quote');
      return [...parts, rest.slice(0, end)].join('\n');
    }
    parts.push(rest);
    const line = await next();
    if (line === undefined)
      throw new Error(
        `invalid environment variable format starting at line ${startedAt}: unclosed single quote`,
      );
    rest = line;
  }
}

function malformed(line: number, what: string): Error {
  return new Error(`invalid environment variable format at line ${line}: ${what}`);
}

/** The lines of a file, one character a byte, without their ends. Throws for a line or a file that is too long. */
export async function* readEnvLines(handle: Pick<FileHandle, 'read'>): AsyncGenerator<string, undefined> {
  let rest = '';
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let size = 0; ;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, size);
    if (bytesRead === 0) break;
    size += bytesRead;
    if (size > MAX_FILE_BYTES) throw new Error(`more than ${MAX_FILE_BYTES} bytes`);
    const lines = `${rest}${chunk.toString('latin1', 0, bytesRead)}`.split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield withoutReturn(line);
    if (rest.length > MAX_LINE_BYTES) throw tooLong();
  }
  if (rest !== '') yield withoutReturn(rest);
  return undefined;
}

function withoutReturn(line: string): string {
  if (line.length > MAX_LINE_BYTES) throw tooLong();
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function tooLong(): Error {
  return new Error('bufio.Scanner: token too long');
}
