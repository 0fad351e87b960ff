import { type Writable } from 'node:stream';

/**
 * Collects writes until the end of this turn of the event loop, so that small frames of all streams are sent
 * together.
 *
 * Each piece is a system call and wakes every process on its path.
 */
export function gatherWrites(transport: Writable): void {
  if (transport.writableCorked > 0) return;
  transport.cork();
  setImmediate(() => transport.uncork());
}
