import { readFileSync } from 'node:fs';
import { findInExecutable } from './program/executable-files.js';

const MANIFEST = new URL('../../package.json', import.meta.url);

/** The version of this package. This file, compiled and bundled, has to stay two folders below package.json. */
export function packageVersion(): string {
  const text = (findInExecutable(MANIFEST) ?? readFileSync(MANIFEST)).toString('utf8');
  return (JSON.parse(text) as { version: string }).version;
}
