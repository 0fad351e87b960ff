import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** Limits of two joined sockets. */
export interface JoinLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Both are closed after this time without a byte either way, in milliseconds. */
  readonly idleMs: number;
}

/** How long the server may take for the rest of a client that has left: nobody can get an answer any more. */
const FLUSH_MS = 10_000;

/**
 * Passes data between two sockets at the reader's pace, until both directions have ended or one side has
 * broken off.
 *
 * Then both are closed. The end of one direction leaves the other open. What the server had sent before it
 * left reaches even a slow client, such as somebody who pages through the output of a command: only `idleMs`
 * limits that.
 */
export function joinSockets(
  client: Duplex,
  server: Duplex,
  { clock, signal, idleMs }: JoinLimits,
): Promise<void> {
  return new Promise((resolve) => {
    let timer: ClockTimer | undefined;
    let touchedMs = clock.monotonicMs();
    let openSockets = 2;
    const closeBoth = (): void => {
      client.destroy();
      server.destroy();
    };
    const touch = (): void => void (touchedMs = clock.monotonicMs());
    const watchIdle = (): void => {
      const leftMs = touchedMs + idleMs - clock.monotonicMs();
      if (leftMs <= 0) closeBoth();
      else timer = clock.setTimer(leftMs, watchIdle, { unref: true });
    };
    const closed = (): void => {
      if (--openSockets > 0) return;
      timer?.cancel();
      signal.removeEventListener('abort', closeBoth);
      resolve();
    };
    signal.addEventListener('abort', closeBoth, { once: true });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', touch);
      from.on('error', closeBoth);
      from.once('close', () => {
        // What was sent before the end still has to arrive; after a break-off it is useless.
        if (from.readableEnded && !to.writableFinished) {
          if (to === server) {
            const limit = clock.setTimer(FLUSH_MS, () => to.destroy(), { unref: true });
            to.once('close', () => limit.cancel());
          }
          to.end(() => to.destroy());
        } else to.destroy();
        closed();
      });
      from.pipe(to);
    }
    watchIdle();
    if (signal.aborted || client.destroyed || server.destroyed) closeBoth();
  });
}
