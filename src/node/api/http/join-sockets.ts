import { type Duplex } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';

/** How two sockets are held together. */
export interface JoinLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Without a byte either way for so long both are closed, in milliseconds. */
  readonly idleMs: number;
}

/** So long the server may take for what a client had sent before it left: there is nobody any more whom it could answer. */
const FLUSH_MS = 10_000;

/**
 * Hands on what comes at either socket to the other, at the reader's pace, until both directions have ended or one side
 * has broken off; then both are closed. The end of one direction leaves the other open.
 *
 * What the server had sent before it left the client gets however slowly it reads, as somebody who pages through the output
 * of a command does: only `idleMs` bounds that.
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
        // What was sent before the end still has to get there; what was broken off is of no use to anybody.
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
