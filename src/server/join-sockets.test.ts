import { duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.js';
import { joinSockets } from './join-sockets.js';

function setUp() {
  const clock = new FakeClock();
  const [client, one] = duplexPair();
  const [other, server] = duplexPair();
  for (const each of [client, server, one, other]) each.on('error', () => undefined);
  const ended = joinSockets(one, other, { clock, signal: new AbortController().signal, idleMs: 1_000 });
  client.resume();
  server.resume();
  return { clock, client, server, one, other, ended };
}

it('closes both sides when nothing was sent for too long, and not before', async () => {
  const { clock, client, one, other, ended } = setUp();
  await clock.advance(900);
  client.write('x');
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(900);
  expect([one.destroyed, other.destroyed]).toEqual([false, false]);
  await clock.advance(200);
  await ended;
  expect([one.destroyed, other.destroyed]).toEqual([true, true]);
});

it('leaves one direction open when the other ends', async () => {
  const { client, server, ended } = setUp();
  const got: string[] = [];
  client.on('data', (data) => got.push(String(data)));
  client.end('question');
  await new Promise((resolve) => server.once('end', resolve));
  server.end('answer');
  await ended;
  expect(got.join('')).toBe('answer');
});
