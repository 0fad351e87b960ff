import { type IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RequestTurns } from './request-turns.js';

const LARGE = { url: '/', rawHeaders: ['X-A', 'x'.repeat(100_000)] } as Partial<IncomingMessage>;

it('counts what waits now, however much came before and was answered', async () => {
  const turns = new RequestTurns();
  const connection = new PassThrough();
  const releases: (() => void)[] = [];
  const take = (): void =>
    turns.take(connection, LARGE as IncomingMessage, async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
    });
  take();
  take();
  for (let request = 0; request < 10; request++) {
    // There is always one that waits.
    take();
    releases.at(-1)!();
    await nextTurn();
    expect(releases).toHaveLength(request + 2);
  }
  expect(connection.destroyed).toBe(false);
  take();
  take();
  expect(connection.destroyed).toBe(true);
});
