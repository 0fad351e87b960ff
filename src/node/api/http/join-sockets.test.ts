import { duplexPair } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { joinSockets } from './join-sockets.js';

function setUp({ idleMs = 1_000 } = {}) {
  const clock = new FakeClock();
  const [client, one] = duplexPair();
  const [other, server] = duplexPair();
  for (const each of [client, server, one, other]) each.on('error', () => undefined);
  const ended = joinSockets(one, other, { clock, signal: new AbortController().signal, idleMs });
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

it('lets a client that pauses have all that was sent to it before the end', async () => {
  const { clock, client, server, other, ended } = setUp({ idleMs: 3_600_000 });
  client.pause();
  for (const word of ['first ', 'second ', 'third']) server.write(word);
  server.end();
  // A connection that is not half-open closes with its end.
  other.once('end', () => other.destroy());
  await new Promise((resolve) => other.once('close', resolve));
  // Somebody reads it page by page.
  await clock.advance(60_000);
  const got: string[] = [];
  client.on('data', (data) => got.push(String(data)));
  client.resume();
  await ended;
  expect(got.join('')).toBe('first second third');
});

it('does not wait for long until a server has read what a client sent that has gone', async () => {
  const { clock, client, server, one, other, ended } = setUp({ idleMs: 3_600_000 });
  server.pause();
  for (const word of ['first ', 'second ', 'third']) client.write(word);
  client.end();
  one.once('end', () => one.destroy());
  await new Promise((resolve) => one.once('close', resolve));
  await clock.advance(9_000);
  expect(other.destroyed).toBe(false);
  await clock.advance(1_000);
  await ended;
  expect(other.destroyed).toBe(true);
});
