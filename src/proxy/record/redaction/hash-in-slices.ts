import { createHash, hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Hashed between two turns of the event loop: a few milliseconds of work. */
const SLICE_BYTES = 2 ** 20;

/** SHA-256 in base64. */
export async function hashInSlices(bytes: Buffer): Promise<string> {
  if (bytes.length <= SLICE_BYTES) return hash('sha256', bytes, 'base64');
  const hashing = createHash('sha256');
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    hashing.update(bytes.subarray(at, at + SLICE_BYTES));
    await nextTurn();
  }
  return hashing.digest('base64');
}
