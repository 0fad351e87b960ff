import { type Socket } from 'node:net';
import { type Readable } from 'node:stream';
import { type ForwardSessions } from './forward-sessions.js';
import { type SpdyClientStream } from '#base/wire/spdy/spdy-client-session.js';

/**
 * Carries one connection to a port of a pod, each direction up to its own end.
 *
 * The connection is closed in the end. Resolves then; rejects with a CommandFailure when the agent refuses, and with an
 * Error that says what went wrong in the pod.
 */
export async function forwardConnection(
  sessions: Pick<ForwardSessions, 'connect'>,
  local: Socket,
  port: number,
): Promise<void> {
  const { data, error, release, retire } = await sessions.connect(port).catch((failure: unknown) => {
    local.destroy();
    throw failure;
  });
  try {
    const failed = readMessage(error.inbound);
    const joined = joinConnection(local, data);
    // A message that is still under way may follow the end of the data.
    const over = joined.then(() => {
      release();
      return failed;
    });
    const message = await Promise.race([failed, over]);
    if (message !== '') {
      // It may be that of a pod that has a new sandbox by now.
      retire();
      throw new Error(message);
    }
    const broken = await joined;
    if (broken !== undefined) throw new Error(`lost connection to pod: ${broken.message}`);
  } finally {
    local.destroy();
    release();
  }
}

/** A longer error text does not help. */
const MAX_MESSAGE_LENGTH = 16 * 1024;

/**
 * Carries bytes both ways between a connection that may be half open and a stream. Resolves when the connection is closed:
 * both directions have ended, or one side has broken off. Never rejects.
 *
 * Returns what broke on the way to the pod, if anything did. The connection is reset then, so that whoever reads it does not
 * take a part for the whole.
 */
function joinConnection(local: Socket, { inbound, outbound }: SpdyClientStream): Promise<Error | undefined> {
  return new Promise((resolve) => {
    let broken: Error | undefined;
    if (local.closed) resolve(undefined);
    else local.once('close', () => resolve(broken));
    const breakOff = (error: Error): void => {
      // Whatever happens once the local side has gone is no news.
      if (local.destroyed) return;
      broken ??= error;
      local.resetAndDestroy();
    };
    inbound.once('error', breakOff);
    outbound.once('error', breakOff);
    inbound.once('close', () => {
      if (!inbound.readableEnded) local.destroy();
    });
    outbound.once('close', () => {
      if (outbound.writableFinished) return;
      // Nobody reads any more what we send; what was sent to us still arrives.
      if (local.writableFinished) local.destroy();
      else local.once('finish', () => local.destroy());
    });
    local.pipe(outbound);
    inbound.pipe(local);
  });
}

/** All that comes as text, up to its end; empty when it breaks off. */
function readMessage(inbound: Readable): Promise<string> {
  return new Promise((resolve) => {
    let message = '';
    inbound.setEncoding('utf8');
    inbound.on('data', (text: string) => {
      message = (message + text).slice(0, MAX_MESSAGE_LENGTH);
    });
    inbound.once('end', () => resolve(message));
    inbound.once('close', () => resolve(''));
  });
}
