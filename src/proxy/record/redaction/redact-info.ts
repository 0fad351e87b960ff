import { REDACTED } from '#base/text/without-credentials.js';

/** Longer texts are not parsed. */
const MAX_JSON_LENGTH = 512 * 1024;
const DEEPEST = 32;

/**
 * Names of which the text is kept in what a runtime says of itself and its containers with `verbose`: what things are
 * called and how they are. Everything else that is a text goes: among it are variables, arguments and configurations,
 * as JSON or as text inside of JSON.
 */
const KEPT_NAMES = new Set([
  ...['id', 'containerid', 'sandboxid', 'snapshotkey', 'snapshotter', 'runtimetype', 'runtimehandler'],
  ...['state', 'processstatus', 'status', 'reason', 'type', 'level', 'version', 'ociversion', 'golang'],
  ...['createdat', 'startedat', 'finishedat', 'lastcniloadstatus', 'cgroupspath', 'cgroupparent'],
  ...['cgroupdriver', 'defaultruntimename', 'runtime_type', 'root', 'statedir', 'rootdir'],
]);

/** Below these people choose the names, so that a name says nothing about the text. */
const FREE_NAMES = /env|annotation|label|secret|auth|arg|command|cmd|hook|config/i;

/**
 * What is kept of a value of the `info` of a verbose answer: of JSON the shape, numbers, flags and the texts of
 * {@link KEPT_NAMES}; of anything else that it was there.
 */
export function redactInfo(text: string): string {
  if (text === '') return text;
  if (text.length > MAX_JSON_LENGTH) return REDACTED;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return REDACTED;
  }
  return JSON.stringify(redactValue(value, { isKept: false, isFree: false, depth: 0 }));
}

interface Place {
  /** Whether a text here is recorded. */
  readonly isKept: boolean;
  /** Whether names below are anybody's. */
  readonly isFree: boolean;
  readonly depth: number;
}

function redactValue(value: unknown, { isKept, isFree, depth }: Place): unknown {
  if (typeof value === 'string') return isKept || value === '' ? value : REDACTED;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return REDACTED;
  // The texts of a list are never recorded: arguments are lists, too.
  if (Array.isArray(value)) {
    return value.map((item) => redactValue(item, { isKept: false, isFree, depth: depth + 1 }));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isKeptBelow = !isFree && KEPT_NAMES.has(name.toLowerCase());
      const place = { isKept: isKeptBelow, isFree: isFree || FREE_NAMES.test(name), depth: depth + 1 };
      return [name, redactValue(item, place)];
    }),
  );
}
