import { type IncomingHttpHeaders } from 'node:http';

/** The names in a header that lists some, in the client's order; empty when there is no such header. */
export function listNames(headers: IncomingHttpHeaders, header: string): readonly string[] {
  const value = headers[header];
  const text = Array.isArray(value) ? value.join(',') : (value ?? '');
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The first name that both sides know; the client's order decides. */
export function negotiateProtocol(
  asked: readonly string[],
  supported: readonly string[],
): string | undefined {
  return asked.find((name) => supported.includes(name));
}
