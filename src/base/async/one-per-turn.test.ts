import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { OnePerTurn } from './one-per-turn.js';

it('runs the first at once, and each of the others in its own turn, in order', async () => {
  const turns = new OnePerTurn();
  const ran: string[] = [];
  for (const name of ['first', 'second', 'third']) turns.run(() => ran.push(name));
  expect(ran).toEqual(['first']);
  await nextTurn();
  expect(ran).toEqual(['first', 'second']);
  await nextTurn();
  expect(ran).toEqual(['first', 'second', 'third']);
});

it('runs one at once again after a turn without any', async () => {
  const turns = new OnePerTurn();
  turns.run(() => undefined);
  await nextTurn();
  await nextTurn();
  let ran = false;
  turns.run(() => (ran = true));
  expect(ran).toBe(true);
});

it('queues a task that was added by a task behind those that are waiting', async () => {
  const turns = new OnePerTurn();
  const ran: string[] = [];
  turns.run(() => {
    ran.push('first');
    turns.run(() => ran.push('of the first'));
  });
  turns.run(() => ran.push('second'));
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(ran).toEqual(['first', 'of the first', 'second']);
});

it('continues after a task that throws', async () => {
  const turns = new OnePerTurn();
  let ran = false;
  expect(() => {
    turns.run(() => {
      throw new Error('broken');
    });
  }).toThrow('broken');
  turns.run(() => (ran = true));
  await nextTurn();
  expect(ran).toBe(true);
});
