import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { LineOutput } from '../../line-output.js';
import { LogLines } from './log-lines.js';

/** A stream whose reader takes nothing until the test lets it. */
class StalledStream extends Writable {
  readonly taken: string[] = [];
  #stalled: (() => void)[] | undefined = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(chunk.toString().trimEnd());
    if (this.#stalled === undefined) done();
    else this.#stalled.push(done);
  }

  goOn(): void {
    const waiting = this.#stalled ?? [];
    this.#stalled = undefined;
    for (const done of waiting) done();
  }
}

const describe = (dropped: number): string => `dropped ${dropped}`;

it('neither waits nor grows while nobody reads, counts what it drops, and says so once there is room', async () => {
  const stream = new StalledStream();
  const lines = new LogLines({ output: new LineOutput(stream), describe, mostWaiting: 1_000 });
  for (let i = 0; i < 5_000; i++) lines.write(`line ${String(i).padStart(4, '0')}`);
  expect(stream.writableLength).toBeLessThanOrEqual(1_000);
  // Nobody waits for room for each of them.
  expect(stream.listenerCount('drain')).toBe(0);
  expect(lines.dropped).toBe(5_000 - 100);
  stream.goOn();
  await expect.poll(() => stream.writableLength).toBe(0);
  lines.write('after');
  lines.write('and on');
  await expect.poll(() => stream.taken.slice(-3)).toEqual(['dropped 4900', 'after', 'and on']);
  expect(stream.taken.slice(0, 100)).toEqual(
    Array.from({ length: 100 }, (_, i) => `line ${String(i).padStart(4, '0')}`),
  );
});

it('hands on every line of a reader who reads', async () => {
  const stream = new PassThrough();
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const lines = new LogLines({ output: new LineOutput(stream), describe });
  for (let i = 0; i < 100; i++) lines.write(`line ${i}`);
  await expect.poll(() => text.split('\n').length).toBe(101);
  expect(lines.dropped).toBe(0);
});
