import { type IncomingMessage } from 'node:http';
import { ApiError, badRequest } from './api-error.js';

/** What an API server takes, too: the largest object and some room around it. */
export const LARGEST_BODY_BYTES = 3 * 1024 * 1024;

/** The body of a request as JSON; undefined when there is none. Rejects with an {@link ApiError}. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? 'application/json';
  const bytes = await readBody(request);
  if (bytes.length === 0) return undefined;
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new ApiError('UnsupportedMediaType', `the body must be application/json, not ${type}`);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    // What JSON.parse says shows a piece of the text, and that may be of a Secret.
    throw badRequest('the body is no JSON');
  }
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  const claimed = Number(request.headers['content-length'] ?? 0);
  if (claimed > LARGEST_BODY_BYTES) throw tooLarge();
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): ApiError {
  return new ApiError('RequestEntityTooLarge', `limit is ${LARGEST_BODY_BYTES} bytes`);
}
