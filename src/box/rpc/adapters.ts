import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js';
import { messageOf } from '#base/errors/errors.js';
import { isUnwritable } from '#base/fs/disk-errors.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { RpcError } from '../rpc-error.js';
import { type RpcContext } from './rpc-context.js';

/** A call with one answer. What it throws becomes the status: an RpcError's code, UNKNOWN for anything else. */
export type UnaryHandler<Q, R> = (context: RpcContext, request: Q, signal: AbortSignal) => R | Promise<R>;

/** A call whose answer is a stream of parts, ended by the handler's return. */
export type PartsHandler<Q, R> = (context: RpcContext, request: Q) => Iterable<R> | AsyncIterable<R>;

/** Serves a unary call. The signal aborts when the caller is gone. */
export function unary<Q, R>(
  context: RpcContext,
  operation: string,
  handler: UnaryHandler<Q, R>,
): handleUnaryCall<Q, R> {
  return (call, callback) => {
    const caller = new AbortController();
    call.once('cancelled', () => caller.abort());
    void (async () => handler(context, call.request, caller.signal))().then(
      (response) => callback(null, response),
      (error: unknown) => callback(toStatus(context, operation, error)),
    );
  };
}

/** Serves a list as a stream, at the caller's pace. */
export function parts<Q, R>(
  context: RpcContext,
  operation: string,
  handler: PartsHandler<Q, R>,
): handleServerStreamingCall<Q, R> {
  return (call) => {
    void (async () => sendParts(call, handler(context, call.request)))().catch((error: unknown) => {
      call.emit('error', toStatus(context, operation, error));
    });
  };
}

/** Sends answers at the caller's pace, and ends the stream. */
export async function sendParts<Q, R>(
  call: ServerWritableStream<Q, R>,
  answers: Iterable<R> | AsyncIterable<R>,
): Promise<void> {
  for await (const answer of answers) {
    if (call.cancelled) return;
    if (!call.write(answer)) await drained(call);
  }
  call.end();
}

function drained<Q, R>(call: ServerWritableStream<Q, R>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done);
      call.off('cancelled', done);
      resolve();
    };
    call.on('drain', done);
    call.on('cancelled', done);
  });
}

/** What a caller sees of an error. */
export function toStatus(context: RpcContext, operation: string, error: unknown) {
  const code = error instanceof RpcError ? error.code : status.UNKNOWN;
  const message = clip(describe(error, context.rootDir));
  context.logger.info('Call refused', { operation, code: status[code], err: message }, 2);
  return { code, details: message, name: operation, message, metadata: new Metadata() };
}

/** Where the disk of the runtime's root takes nothing, with that folder alone: the same words for each attempt. */
function describe(error: unknown, rootDir: string): string {
  const message = messageOf(error);
  const { path } = (error ?? {}) as { readonly path?: unknown };
  if (!isUnwritable(error) || typeof path !== 'string' || !isBelow(path, rootDir)) return message;
  return `the runtime cannot write in its root folder ${rootDir}: ${message.split(',')[0]}`;
}

/** A status travels in a header, for which clients and servers have limits of some KiB: a longer one reaches nobody. */
const MAX_MESSAGE_LENGTH = 4_000;

function clip(message: string): string {
  const more = message.length - MAX_MESSAGE_LENGTH;
  return more > 0 ? `${message.slice(0, MAX_MESSAGE_LENGTH)} … and ${more} characters more` : message;
}

/** A few hundred objects stay far below the smallest message limit, 4 MiB. */
const PIECE = 200;

/** Cuts a list into pieces for a stream of messages. An empty list gives no piece. */
export function* inPieces<T>(items: readonly T[], itemsInPiece = PIECE): Generator<T[]> {
  for (let at = 0; at < items.length; at += itemsInPiece) yield items.slice(at, at + itemsInPiece);
}
