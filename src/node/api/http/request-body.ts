import { type IncomingMessage } from 'node:http';
import { ApiError, badRequest } from './api-error.js';

/** An API server's limit, too: the largest object and some room around it. */
export const LARGEST_BODY_BYTES = 3 * 1024 * 1024;

/** No Kubernetes object is half as deep. */
const DEEPEST_BODY = 100;
const CODES = { quote: 0x22, backslash: 0x5c, bracket: 0x5b, endBracket: 0x5d, brace: 0x7b, endBrace: 0x7d };

/** The kinds of patches: RFC 6902, RFC 7386, and Kubernetes' own. */
export const JSON_PATCH = 'application/json-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const PATCH_TYPES: readonly string[] = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH];

/** A media type without its parameters, in lower case. Pure. */
export function mediaTypeOf(contentType: string): string {
  return contentType.split(';', 1)[0]!.trim().toLowerCase();
}

/** The body of a request as JSON; undefined when there is none. Rejects with an {@link ApiError}. */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? 'application/json';
  const bytes = await readBody(request);
  if (bytes.length === 0) return undefined;
  const isPatch = request.method === 'PATCH';
  if (isPatch && !PATCH_TYPES.includes(mediaTypeOf(type))) {
    const accepted = `accepted media types include: ${PATCH_TYPES.join(', ')}`;
    throw new ApiError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - ${accepted}`,
    );
  }
  if (!isPatch && mediaTypeOf(type) !== 'application/json') {
    throw new ApiError('UnsupportedMediaType', `the body must be application/json, not ${type}`);
  }
  // Deeper nesting would exhaust the stack.
  if (depthOf(bytes) > DEEPEST_BODY)
    throw badRequest(`the body is nested deeper than ${DEEPEST_BODY} levels`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    // JSON.parse's message quotes the text, which may be that of a Secret.
    throw badRequest('the body is no JSON');
  }
}

/** The maximum of open brackets and braces outside of strings. */
function depthOf(bytes: Uint8Array): number {
  let [depth, deepest, isText] = [0, 0, false];
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (isText) {
      if (byte === CODES.backslash) index++;
      else if (byte === CODES.quote) isText = false;
    } else if (byte === CODES.quote) isText = true;
    else if (byte === CODES.bracket || byte === CODES.brace) deepest = Math.max(deepest, ++depth);
    else if (byte === CODES.endBracket || byte === CODES.endBrace) depth--;
  }
  return deepest;
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
