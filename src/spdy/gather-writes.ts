import { type Writable } from 'node:stream';

/**
 * Holds back what is written from now on to the end of this turn of the loop, or to {@link flushWrites}, so that small
 * frames go out in one piece: each piece wakes every process on the way.
 */
export function gatherWrites(transport: Writable): void {
  if (transport.writableCorked > 0) return;
  transport.cork();
  setImmediate(() => transport.uncork());
}

/** Sends what was held back. */
export function flushWrites(transport: Writable): void {
  while (transport.writableCorked > 0) transport.uncork();
}
