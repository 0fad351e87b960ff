import { type LogFields } from './logger.js';
import { type SourcePlace } from './source-place.js';

/** The letter in front of a klog line: information, warning, error. */
export type KlogLevel = 'I' | 'W' | 'E';

/** A log line before formatting. */
export interface KlogLine {
  readonly level: KlogLevel;
  /** Wall-clock milliseconds since the epoch; printed in local time, as klog does. */
  readonly atMs: number;
  readonly pid: number;
  /** The source that logged it: `pleg.ts:257`. */
  readonly place: SourcePlace;
  readonly message: string;
  readonly fields: LogFields;
}

/**
 * Formats a line like klog: `I1121 10:26:42.444214   31073 pleg.ts:257] "message" pod="default/web"
 * exitCode=3`.
 *
 * Unlike in klog it is always one line: line breaks inside values are escaped, so that a search by pod finds
 * all of it.
 */
export function formatKlogLine(line: KlogLine): string {
  const head = `${line.level}${formatKlogTime(line.atMs)} ${String(line.pid).padStart(7)}`;
  let text = `${head} ${line.place.file}:${line.place.line}] ${goQuote(line.message)}`;
  for (const [key, value] of Object.entries(line.fields)) {
    if (value !== undefined) text += ` ${key}=${formatKlogValue(value)}`;
  }
  return text;
}

/**
 * Formats a value like klog: strings and errors quoted, pods as "namespace/name", numbers bare, lists in
 * brackets, structures as JSON. Never throws.
 */
export function formatKlogValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return goQuote(value);
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    default:
      if (value instanceof Error) return goQuote(value.message);
      if (isObjectName(value)) return goQuote(formatObjectName(value));
      return toJson(value, formatObjectName);
  }
}

/** The name of an object in a cluster or on a node. */
export interface ObjectName {
  readonly uid?: string;
  readonly namespace: string;
  readonly name: string;
}

/** Whether a value identifies a pod, so that a log line needs nothing else of it. */
export function isObjectName(value: unknown): value is ObjectName {
  return (
    typeof value === 'object' &&
    value !== null &&
    'namespace' in value &&
    typeof value.namespace === 'string' &&
    'name' in value &&
    typeof value.name === 'string'
  );
}

/** Serializes any value; objects with a name are replaced by the result of `nameObject`. Never throws. */
export function toJson(value: unknown, nameObject: (object: ObjectName) => unknown): string {
  const replace = (_key: string, part: unknown): unknown => {
    if (typeof part === 'bigint') return part.toString();
    if (part instanceof Error) return part.message;
    if (part instanceof Map) return Object.fromEntries(part);
    if (part instanceof Set) return [...part];
    return isObjectName(part) ? nameObject(part) : part;
  };
  try {
    // A value without JSON, such as a function, gives undefined.
    const json = JSON.stringify(value, replace) as string | undefined;
    return escapeUnprintable(json ?? JSON.stringify(String(value)));
  } catch (error) {
    // A logger that throws would turn one bad line into an outage.
    return JSON.stringify(`not printable: ${error instanceof Error ? error.message : 'unknown reason'}`);
  }
}

function formatObjectName({ uid = '', namespace, name }: ObjectName): string {
  if (name === '') return uid;
  return namespace === '' ? name : `${namespace}/${name}`;
}

function formatKlogTime(atMs: number): string {
  const at = new Date(atMs);
  const micros = Math.floor((((atMs % 1000) + 1000) % 1000) * 1000);
  return (
    `${pad(at.getMonth() + 1, 2)}${pad(at.getDate(), 2)} ` +
    `${pad(at.getHours(), 2)}:${pad(at.getMinutes(), 2)}:${pad(at.getSeconds(), 2)}.${pad(micros, 6)}`
  );
}

/** Escapes characters that JSON allows in a string, but a terminal may interpret as commands. */
function escapeUnprintable(json: string): string {
  return json.replaceAll(/[\p{C}\u2028\u2029]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
      .join(''),
  );
}

const NEEDS_NO_ESCAPE = /^[ !#-[\]-~]*$/;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Quotes like Go's strconv.Quote: unprintable characters are escaped, everything else stays. */
function goQuote(text: string): string {
  if (NEEDS_NO_ESCAPE.test(text)) return `"${text}"`;
  return `"${text.replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0)!;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  // A lone surrogate is not a character; Go would have U+FFFD here, which it prints unescaped.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, '0');
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
