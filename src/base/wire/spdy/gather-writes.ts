import { type Writable } from 'node:stream';

/**
 * Holds back what is written from now on to the end of this turn of the loop, so that small frames of all streams go out in
 * one piece: each piece is a call of the system and wakes every process on the way.
 */
export function gatherWrites(transport: Writable): void {
  if (transport.writableCorked > 0) return;
  transport.cork();
  setImmediate(() => transport.uncork());
}
