import { type IncomingMessage, type ServerResponse } from 'node:http';

/** Nothing from elsewhere, no script or style in markup, no frame round it. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
].join('; ');

/** Headers of every answer. */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** An answer to the page. */
export interface PageAnswer {
  readonly code: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer with an object. */
export function jsonOf(code: number, body: object, headers: PageAnswer['headers'] = {}): PageAnswer {
  return { code, contentType: 'application/json', body: JSON.stringify(body), headers };
}

/** Why there is none. */
export function refusal(code: number, message: string): PageAnswer {
  return jsonOf(code, { message });
}

/** Sends it, and nothing of it to whoever asked with HEAD. */
export function sendPage(
  request: IncomingMessage,
  response: ServerResponse,
  { code, contentType, body, headers = {} }: PageAnswer,
): void {
  setSafeHeaders(response);
  response.writeHead(code, {
    'cache-control': 'no-store',
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

/** For an answer that is sent piece by piece. */
export function setSafeHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
}
