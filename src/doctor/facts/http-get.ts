import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** What goes with a request to a kubelet. */
export interface HttpCredentials {
  /** A bearer token; said to servers over TLS alone. */
  readonly token?: string;
  /** In PEM. */
  readonly certificate?: string;
  readonly key?: string;
  readonly authority?: string;
  /** Whether to accept a server without a valid certificate. */
  readonly insecure?: boolean;
}

/** An answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** A page of metrics has a megabyte or two on a large node. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Gets a page. Rejects with the system's error when nobody answers, or with the signal's reason. */
export function httpGet(
  url: string,
  { token, certificate, key, authority, insecure }: HttpCredentials,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const isSecure = url.startsWith('https:');
    const call = (isSecure ? requestHttps : requestHttp)(url, {
      signal,
      agent: false,
      headers: isSecure && token !== undefined ? { authorization: `Bearer ${token}` } : {},
      ...(isSecure ? { cert: certificate, key, ca: authority, rejectUnauthorized: insecure !== true } : {}),
    });
    call.once('error', reject);
    call.once('response', (answer) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) call.destroy(new Error(`the answer has more than ${MAX_BYTES} bytes`));
        else chunks.push(chunk);
      });
      answer.once('error', reject);
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
    });
    call.end();
  });
}
