import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { StrangerSockets } from './stranger-sockets.js';

it('closes the oldest connection without a session for each that comes', () => {
  const strangers = new StrangerSockets({ max: 2 });
  const sockets = Array.from({ length: 5 }, () => new Socket());
  for (const socket of sockets.slice(0, 2)) strangers.add(socket);
  strangers.admit(sockets[0]!);
  for (const socket of sockets.slice(2)) strangers.add(socket);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, true, false, false]);
});

it('forgets a connection that has ended', async () => {
  const strangers = new StrangerSockets({ max: 1 });
  const [one, other] = [new Socket(), new Socket()];
  strangers.add(one);
  await new Promise((resolve) => one.once('close', resolve).destroy());
  strangers.add(other);
  expect(other.destroyed).toBe(false);
});
