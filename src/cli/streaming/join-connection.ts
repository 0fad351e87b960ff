import { type Socket } from 'node:net';
import { type Readable } from 'node:stream';
import { type SpdyClientStream } from '../../spdy/spdy-client-session.js';

/** More of what went wrong helps nobody. */
const MAX_MESSAGE_LENGTH = 16 * 1024;

/**
 * Carries bytes both ways between a connection that may be half open and a stream. Resolves when the connection is closed:
 * both directions have ended, or one side has broken off. Never rejects.
 */
export function joinConnection(local: Socket, { inbound, outbound }: SpdyClientStream): Promise<void> {
  return new Promise((resolve) => {
    if (local.closed) resolve();
    else local.once('close', () => resolve());
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
export function readMessage(inbound: Readable): Promise<string> {
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
