import { type FileHandle, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { isWrittenOnTheSpot, LogFile, type WriteBytes } from './log-file.js';
import { LogLines } from './shared/log/log-lines.js';

let folder: string;
let file: FileHandle;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-log-file-test-'));
  file = await open(join(folder, 'log'), 'w');
});

afterEach(async () => {
  await file.close();
  await rm(folder, { recursive: true });
});

const textOf = (): Promise<string> => readFile(join(folder, 'log'), 'utf8');
const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(`${code}: write`), { code });

/** A file whose writes end as the test says: with an error, or with so many bytes of it taken. */
class HeldFile {
  taken = '';
  #ends: ((end: NodeJS.ErrnoException | number) => void)[] = [];

  readonly write: WriteBytes = (_fd, bytes, _offset, length, _position, done) => {
    this.#ends.push((end) => {
      if (typeof end !== 'number') {
        done(end, 0);
        return;
      }
      const count = Math.min(end, length);
      this.taken += bytes.subarray(0, count).toString();
      done(null, count);
    });
  };

  end(how: NodeJS.ErrnoException | number): void {
    this.#ends.shift()!(how);
  }

  takeAll(): void {
    while (this.#ends.length > 0) this.end(Infinity);
  }
}

function setUp() {
  const clock = new FakeClock();
  const held = new HeldFile();
  return { clock, held, log: new LogFile({ fd: -1, clock, write: held.write }) };
}

describe('a file that a log is written to', () => {
  it('gets every line in order, and whoever writes is never waited for', async () => {
    const log = new LogFile({ fd: file.fd, clock: new FakeClock() });
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} größe`);
    for (const line of lines) log.writeLine(line);
    // Nothing was written on the spot.
    expect(log.waitingBytes).toBe(Buffer.byteLength(lines.join('\n')) + 1);
    await expect.poll(() => log.waitingBytes).toBe(0);
    expect(await textOf()).toBe(lines.map((line) => `${line}\n`).join(''));
    expect(log.findProblem()).toBeUndefined();
  });

  it('goes on from where it had come to once a disk that was full has room, and says so meanwhile', async () => {
    const { clock, held, log } = setUp();
    log.writeLine('one');
    held.end(2);
    held.end(failure('ENOSPC'));
    expect(log.findProblem()).toBe('ENOSPC: write');
    log.writeLine('two');
    await clock.advance(1_000);
    held.end(failure('ENOSPC'));
    await clock.advance(1_000);
    held.end(100);
    expect(log.findProblem()).toBeUndefined();
    held.end(100);
    expect(held.taken).toBe('one\ntwo\n');
    expect(log.waitingBytes).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is asked again soon when it is a terminal that was stopped, which is no failure', async () => {
    const { clock, held, log } = setUp();
    log.writeLine('one');
    held.end(failure('EAGAIN'));
    expect(log.findProblem()).toBeUndefined();
    await clock.advance(50);
    held.end(100);
    expect(held.taken).toBe('one\n');
  });

  it('says of a write that hangs how long it has, and of much that waits how much', async () => {
    const { clock, held, log } = setUp();
    log.writeLine('one');
    log.writeLine('x'.repeat(2_000_000));
    expect(log.findProblem()).toBe('2000005 bytes wait for their reader');
    await clock.advance(12_000);
    expect(log.findProblem()).toBe('a write has taken 12s so far');
    for (let writes = 0; writes < 2; writes++) held.end(5_000_000);
    expect(log.findProblem()).toBeUndefined();
  });

  it('keeps no more than may wait, and tells of the rest once it can', async () => {
    const { clock, held, log } = setUp();
    const lines = new LogLines({
      output: log,
      describe: (dropped) => `dropped ${dropped}`,
      mostWaiting: 100,
    });
    lines.write('first');
    held.end(failure('ENOSPC'));
    for (let at = 0; at < 50; at++) lines.write('ninebytes');
    expect(log.waitingBytes).toBeLessThanOrEqual(100);
    expect([lines.dropped, lines.findProblem()]).toEqual([41, 'ENOSPC: write']);
    await clock.advance(1_000);
    held.takeAll();
    lines.write('last');
    held.takeAll();
    expect(held.taken.split('\n').slice(-3)).toEqual(['dropped 41', 'last', '']);
  });

  it('is waited for at an end until all is there, and for a second at most', async () => {
    const { clock, held, log } = setUp();
    await log.settle();
    log.writeLine('one');
    let settled = 0;
    const count = (): number => settled++;
    const first = log.settle().then(count);
    held.end(100);
    await first;
    log.writeLine('two');
    const second = log.settle().then(count);
    await clock.advance(1_000);
    await second;
    expect(settled).toBe(2);
    held.end(100);
    expect(clock.pendingTimers).toBe(0);
  });

  it('gets what waits when the process ends, unless it hangs or fails', async () => {
    const clock = new FakeClock();
    const held = new HeldFile();
    const log = new LogFile({ fd: file.fd, clock, write: held.write });
    log.writeLine('being written');
    log.writeLine('waits');
    await clock.advance(2_000);
    log.flush();
    expect(await textOf()).toBe('');
    held.end(1_000);
    log.writeLine('later');
    log.flush();
    expect(await textOf()).toBe('later\n');
    expect(log.waitingBytes).toBe('waits\n'.length);
  });

  it('is told from what Node writes to without waiting', () => {
    expect(isWrittenOnTheSpot(file.fd)).toBe(true);
    expect(isWrittenOnTheSpot(-1)).toBe(false);
  });
});
