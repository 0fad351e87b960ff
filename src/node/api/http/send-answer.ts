import { once } from 'node:events';
import { type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PodloopError } from '#base/errors/errors.js';
import { ApiError } from './api-error.js';
import { type ApiAnswer, type BytesAnswer, type JsonAnswer, type StreamAnswer } from './api-request.js';

/** How long others wait at most while an answer is written. */
const SLICE_MS = 10;
const PIECE_BYTES = 64 * 1024;

/**
 * Sends an answer at the client's pace. Rejects with an error from before the first byte; nothing is sent
 * then.
 */
export async function sendAnswer(
  response: ServerResponse,
  answer: ApiAnswer,
  signal: AbortSignal,
): Promise<void> {
  switch (answer.kind) {
    case 'json':
      sendJson(response, answer);
      break;
    case 'text':
      sendText(response, answer.code ?? 200, 'text/plain; charset=utf-8', answer.body, answer.headers);
      break;
    case 'bytes':
      await sendBytes(response, answer);
      break;
    case 'stream':
      await sendStream(response, answer, signal);
  }
}

/** The client's view of a thrown error: only messages that were meant for it. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // podloop's own errors say what is wrong and contain no value of a Secret.
  if (error instanceof PodloopError) {
    const isPassing = error.code === 'CRI_UNAVAILABLE' || error.code === 'JOURNAL_UNUSABLE';
    const reason = isPassing ? 'ServiceUnavailable' : 'InternalError';
    return new ApiError(reason, error.message, undefined, { cause: error });
  }
  const message = 'Internal error occurred; the log of the agent says more';
  return new ApiError('InternalError', message, undefined, { cause: error });
}

function sendJson(response: ServerResponse, { body, code = 200, headers }: JsonAnswer): void {
  sendText(response, code, 'application/json', `${JSON.stringify(body)}\n`, headers);
}

function sendText(
  response: ServerResponse,
  code: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(code, { ...headers, 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(text);
}

/** Piece by piece: what a slow client has not read yet stays in the shared buffer. */
async function sendBytes(response: ServerResponse, answer: BytesAnswer): Promise<void> {
  const { contentType, headers, body } = answer;
  response.writeHead(200, { ...headers, 'Content-Type': contentType, 'Content-Length': body.length });
  for (let begin = 0; begin < body.length; begin += PIECE_BYTES) {
    if (!response.write(body.subarray(begin, begin + PIECE_BYTES))) await drained(response);
    if (response.destroyed) return;
  }
  response.end();
}

async function sendStream(
  response: ServerResponse,
  answer: StreamAnswer,
  signal: AbortSignal,
): Promise<void> {
  const pieces = answer.pieces[Symbol.asyncIterator]();
  let hasBegun = false;
  let turnedAtMs = performance.now();
  try {
    for (;;) {
      const next: IteratorResult<string | Uint8Array, unknown> = await pieces.next();
      if (signal.aborted && response.destroyed) return;
      if (next.done === true && signal.aborted && answer.abortCutsOff === true) {
        throw new ApiError('ServiceUnavailable', 'the agent is ending');
      }
      if (!hasBegun) {
        response.writeHead(answer.code ?? 200, { ...answer.headers, 'Content-Type': answer.contentType });
        hasBegun = true;
      }
      if (next.done === true || response.req.method === 'HEAD') break;
      const { value } = next;
      if (value.length === 0) response.flushHeaders();
      else if (!response.write(value)) await drained(response);
      if (response.destroyed) return;
      if (performance.now() - turnedAtMs < SLICE_MS) continue;
      await nextTurn();
      turnedAtMs = performance.now();
    }
    response.end();
  } catch (error) {
    if (!hasBegun) throw error;
    // Half an answer must not seem complete.
    response.destroy();
    if (!signal.aborted) throw error;
  } finally {
    await pieces.return?.();
  }
}

/** Until the connection takes more, or is gone. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const leaving = new AbortController();
  try {
    const { signal } = leaving;
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } catch {
    // It failed: `destroyed` shows that.
  } finally {
    leaving.abort();
  }
}
