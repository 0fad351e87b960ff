import { type Duplex, type Readable, type Writable } from 'node:stream';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { IdleTimer } from '../idle-timer.js';

/** How a port of a pod is reached: rejects with a sentence when nobody listens there. */
export type ConnectPort = (port: number, signal: AbortSignal) => Promise<Duplex>;

/** What {@link forwardPort} needs. */
export interface ForwardPortOptions {
  readonly port: number;
  readonly connect: ConnectPort;
  /** What comes from the client, and what goes to it. */
  readonly inbound: Readable;
  readonly outbound: Writable;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
  /** Whether the client has a way to say that it sends nothing more; else the program's end is the end of all. */
  readonly clientEnds: boolean;
}

/**
 * How long a half-closed connection may be silent in its other direction. Each side may take its
 * time to answer after the end of the question, but a program that never closes must not be waited for for ever.
 */
const HALF_OPEN_MS = 60_000;

/**
 * Joins a client with a port of a pod until both directions have ended, or one side has broken off.
 *
 * Returns what went wrong before anything was joined, for the client to read; a connection that breaks later is
 * closed for the client as it was for us, for client-go gives up all ports over any message.
 */
export async function forwardPort(options: ForwardPortOptions): Promise<string | undefined> {
  const { port, connect, inbound, gone } = options;
  let socket: Duplex;
  try {
    socket = await connect(port, gone);
  } catch (error) {
    return `error forwarding port ${port}: ${messageOf(error)}`;
  }
  if (inbound.destroyed && !inbound.readableEnded) {
    socket.destroy();
    return undefined;
  }
  await join(socket, options);
  return undefined;
}

function join(socket: Duplex, options: ForwardPortOptions): Promise<void> {
  const { inbound, outbound, clock, clientEnds } = options;
  return new Promise((resolve) => {
    let idle: IdleTimer | undefined;
    let openDirections = 2;
    const breakOff = (): void => {
      idle?.stop();
      socket.destroy();
      inbound.destroy();
      outbound.destroy();
      resolve();
    };
    const endDirection = (): void => {
      openDirections--;
      if (openDirections === 1) idle = new IdleTimer({ clock, timeoutMs: HALF_OPEN_MS, onIdle: breakOff });
    };
    socket.on('data', () => idle?.touch());
    inbound.on('data', () => idle?.touch());
    socket.on('error', breakOff);
    inbound.once('end', endDirection);
    inbound.once('close', () => {
      if (!inbound.readableEnded) breakOff();
    });
    // What is sent is on its way only when the stream has finished; it is closed before that when the client left.
    outbound.once('finish', clientEnds ? endDirection : breakOff);
    outbound.once('close', () => {
      if (!outbound.writableFinished) breakOff();
    });
    socket.once('close', () => {
      idle?.stop();
      if (outbound.writableFinished || outbound.destroyed) resolve();
      else outbound.once('close', resolve);
      // Nobody reads any more, so nothing has to be sent any more.
      inbound.destroy();
    });
    inbound.pipe(socket);
    socket.pipe(outbound);
  });
}
