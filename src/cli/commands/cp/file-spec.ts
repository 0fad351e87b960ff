import { posix } from 'node:path';
import { failure } from '../../command-failure.js';

/** A path here, or in a container: `[[NAMESPACE/]POD:]PATH`. */
export interface FileSpec {
  /** Undefined for a path here. */
  readonly pod: string | undefined;
  readonly namespace: string | undefined;
  readonly path: string;
}

/** Reads one side of a copy, as kubectl reads it. Throws a CommandFailure. */
export function readFileSpec(text: string): FileSpec {
  const wrong = (): Error => failure('filespec must match the canonical format: [[namespace/]pod:]file/path');
  const colon = text.indexOf(':');
  if (colon === 0) throw wrong();
  if (colon < 0) return { pod: undefined, namespace: undefined, path: text };
  const parts = text.slice(0, colon).split('/');
  const path = text.slice(colon + 1);
  if (parts.length === 1) return { pod: parts[0]!, namespace: undefined, path };
  if (parts.length === 2) return { namespace: parts[0]!, pod: parts[1]!, path };
  throw wrong();
}

/** What the names in a tar of that path of a container begin with: no slash in front, and no way up. */
export function namePrefix(path: string): string {
  const clean = posix.normalize(path.replace(/^\/+/, '')).replace(/\/$/, '');
  const parts = clean.split('/');
  while (parts[0] === '..') parts.shift();
  const prefix = parts.join('/');
  return prefix === '.' ? '' : prefix;
}
