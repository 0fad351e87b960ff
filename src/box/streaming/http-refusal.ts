import { STATUS_CODES } from 'node:http';
import { type Duplex } from 'node:stream';

/** Answers a request whose connection was to be upgraded, and closes it. */
export function refuseUpgrade(
  socket: Duplex,
  code: number,
  message: string,
  headers: readonly string[] = [],
): void {
  const body = `${message}\n`;
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
