import { createHash } from 'node:crypto';
import { isRecord } from '#base/text/is-record.js';
import { SAFE_LETTERS } from '#base/text/random-suffix.js';

/** What an API server leaves of `generateName`, so that a name with its suffix fits into 63 characters. */
const MAX_BASE_LENGTH = 58;
const SUFFIX_LENGTH = 5;

/**
 * The Job with a name if it has `generateName` alone.
 *
 * An API server takes a random suffix for each creation. A manifest is read repeatedly, so its suffix is a hash of what it
 * says: the same Job each time, and another one once it is edited. As in Kubernetes, a name makes `generateName` void.
 * Anything else is returned as it is.
 */
export function withJobName(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value['metadata'])) return value;
  const { generateName, ...metadata } = value['metadata'];
  if (typeof generateName !== 'string' || generateName === '') return value;
  const { name } = metadata;
  if (name !== undefined && name !== null && name !== '') return { ...value, metadata };
  const base = generateName.slice(0, MAX_BASE_LENGTH);
  return { ...value, metadata: { ...metadata, name: `${base}${hashSuffix(value)}` } };
}

function hashSuffix(value: unknown): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest();
  const letters = [...bytes.subarray(0, SUFFIX_LENGTH)];
  return letters.map((byte) => SAFE_LETTERS[byte % SAFE_LETTERS.length]!).join('');
}

/** The order of keys says nothing. Pairs, since an object puts keys that look like numbers first. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])]);
}
