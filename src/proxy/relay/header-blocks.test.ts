import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect, createServer, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { type CallInterceptor } from './call-handler.js';
import { FrameRelay } from './index.js';

type Fields = Readonly<Record<string, string>>;

/** Names and values from a small set, so that tables are used, and from a large one, so that they overflow. */
const fields: fc.Arbitrary<Fields> = fc.dictionary(
  fc.oneof(
    fc.constantFrom('x-a', 'x-b', 'user-agent', 'grpc-status', 'cookie'),
    fc.stringMatching(/^x-[a-z0-9]{1,12}$/),
  ),
  fc.oneof(
    fc.constantFrom('0', 'application/grpc', 'a value that comes again'),
    fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/),
    fc.stringMatching(/^[!-~]{300,900}$/),
  ),
  { maxKeys: 6 },
);

/** A server that answers each request with the headers and trailers that are next in line. */
async function serveHttp2(
  path: string,
  answers: readonly { readonly headers: Fields; readonly trailers: Fields }[],
  seen: IncomingHttpHeaders[],
): Promise<AsyncDisposable> {
  const server = createServer({ settings: { headerTableSize: 300 } });
  let next = 0;
  server.on('stream', (stream, headers) => {
    seen.push(headers);
    const { headers: own, trailers } = answers[next++]!;
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, ...own }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.resume();
    stream.end('body');
  });
  server.listen(path);
  await once(server, 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Sends a request and gives headers and trailers of its answer. */
async function request(session: ClientHttp2Session, headers: Fields): Promise<[Fields, Fields]> {
  const stream = session.request({ ':method': 'POST', ':path': '/service/Method', ...headers });
  stream.end('body');
  const received: [Fields, Fields] = [{}, {}];
  stream.on('response', (own) => (received[0] = plain(own)));
  stream.on('trailers', (own: IncomingHttpHeaders) => (received[1] = plain(own)));
  stream.resume();
  await once(stream, 'close');
  return received;
}

/** What the test itself has put into headers: Node adds some of its own. */
function plain(headers: IncomingHttpHeaders): Fields {
  const { date: _date, ...own } = headers;
  return Object.fromEntries(
    Object.entries(own)
      .filter(([name]) => !name.startsWith(':'))
      .map(([name, value]) => [name, String(value)]),
  );
}

/** Holds the headers of some answers back, so that blocks leave their places: those of the calls that `isHeld` says. */
function holdSome(isHeld: readonly boolean[]): CallInterceptor {
  let next = 0;
  return () => {
    if (isHeld[next++] !== true) return undefined;
    const later: (() => void)[] = [];
    return {
      request: 'pass',
      response: 'take',
      createHandler: (call) => ({
        onHeaders: (_side, headers) => void later.push(() => call.response.forwardHeaders(headers)),
        onMessage: (_side, message) => void later.push(() => call.response.send(message)),
        onEnd: (side) => {
          if (side === 'request') return;
          later.push(() => call.response.end());
          setImmediate(() => {
            for (const act of later) act();
          });
        },
        onReset: () => undefined,
        onClosed: () => undefined,
      }),
    };
  };
}

describe('header blocks of nghttp2', () => {
  it('mean the same behind the relay, whatever is held back, and with a table that changes its size', async () => {
    const exchange = fc.record({ request: fields, headers: fields, trailers: fields, isHeld: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(exchange, { minLength: 1, maxLength: 15 }), async (exchanges) => {
        const folder = await mkdtemp(join(tmpdir(), 'podloop-headers-'));
        const seen: IncomingHttpHeaders[] = [];
        await using _server = await serveHttp2(join(folder, 'server.sock'), exchanges, seen);
        await using relay = await FrameRelay.start({
          ...{
            upstream: `unix://${join(folder, 'server.sock')}`,
            listen: `unix://${join(folder, 'relay.sock')}`,
          },
          intercept: holdSome(exchanges.map(({ isHeld }) => isHeld)),
        });
        const session = connect('http://localhost', {
          createConnection: () => connectSocket(relay.endpoint.replace('unix://', '')),
          settings: { headerTableSize: 500 },
        });
        let settled = false;
        session.settings({ headerTableSize: 200 }, () => (settled = true));
        for (const [at, { request: headers, ...answer }] of exchanges.entries()) {
          const [received, trailers] = await request(session, headers);
          expect(received).toEqual(plain(answer.headers));
          expect(trailers).toEqual(plain(answer.trailers));
          expect(plain(seen[at]!)).toEqual(plain(headers));
        }
        await untilTrue(() => settled);
        const closed = once(session, 'close');
        session.close();
        await closed;
        await rm(folder, { recursive: true, force: true });
      }),
      { numRuns: 40 },
    );
  });
});
