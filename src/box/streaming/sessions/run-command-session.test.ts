import { PassThrough } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type ContainerProcess } from '../../isolation/container-process.js';
import { type CommandPeer } from './command-peer.js';
import { type CommandOutcome } from './command-status.js';
import { runExec } from './run-command-session.js';

/** A client and a command that a test plays. */
function setUp() {
  const clock = new FakeClock();
  const leave = new AbortController();
  const outcomes: CommandOutcome[] = [];
  const [stdin, output] = [new PassThrough(), new PassThrough()];
  const [input, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const peer: CommandPeer = {
    stdin,
    stdout: output,
    stderr: undefined,
    gone: leave.signal,
    onResize: () => undefined,
    finish: (outcome) => Promise.resolve(void outcomes.push(outcome)),
  };
  let exit!: (code: number) => void;
  const process = {
    stdin: input,
    stdout,
    stderr,
    exit: new Promise<number>((resolve) => (exit = resolve)),
    killed: 0,
    kill() {
      this.killed++;
    },
  } satisfies ContainerProcess & { killed: number };
  const session = runExec(peer, () => Promise.resolve(process), clock);
  return { clock, leave, outcomes, peer, stdin, output, process, exit, session };
}

describe('an exec', () => {
  it('is over when the command has ended and its outputs too', async () => {
    const { clock, outcomes, output, process, exit, session } = setUp();
    await nextRound();
    exit(7);
    await clock.advance(400);
    process.stdout.end('late');
    process.stderr.end('nobody wants this');
    await session;
    expect(outcomes).toEqual([{ kind: 'exited', code: 7 }]);
    expect(String(output.read())).toBe('late');
  });

  it('does not wait for an output that is open and silent for half a second after the end', async () => {
    const { clock, outcomes, process, exit, session } = setUp();
    await nextRound();
    exit(0);
    await clock.advance(400);
    process.stdout.write('something');
    await clock.advance(400);
    expect(outcomes).toEqual([]);
    await clock.advance(1_000);
    await session;
    expect(outcomes).toEqual([{ kind: 'exited', code: 0 }]);
    expect(process.stdout.destroyed).toBe(true);
  });

  it('waits for a client that is slow to take the last output', async () => {
    const { clock, outcomes, output, process, exit, session } = setUp();
    await nextRound();
    process.stdout.write(Buffer.alloc(200_000));
    exit(0);
    await clock.advance(60_000);
    expect(outcomes).toEqual([]);
    output.resume();
    await nextRound();
    await clock.advance(2_000);
    await session;
    expect(outcomes).toHaveLength(1);
  });

  it('kills the command when the client leaves', async () => {
    const { leave, process, exit, session } = setUp();
    await nextRound();
    leave.abort();
    expect(process.killed).toBe(1);
    process.stdout.end();
    process.stderr.end();
    exit(137);
    await session;
  });

  it('kills the command when the client has left before it was there', async () => {
    const { peer, leave, process, clock } = setUp();
    leave.abort();
    const late = {
      ...process,
      killed: 0,
      exit: Promise.resolve(137),
      stdout: new PassThrough().end(),
      stderr: undefined,
    };
    await runExec(peer, () => Promise.resolve(late as unknown as ContainerProcess), clock);
    expect(late.killed).toBe(1);
  });

  it('drops input that the command does not take any more, and goes on', async () => {
    const { stdin, process, outcomes, exit, session } = setUp();
    await nextRound();
    process.stdin.destroy(new Error('EPIPE'));
    await nextRound();
    for (let sent = 0; sent < 100; sent++) stdin.write(Buffer.alloc(100_000));
    while (stdin.readableLength + stdin.writableLength > 0) await nextRound();
    process.stdout.end();
    process.stderr.end();
    exit(0);
    await session;
    expect(outcomes).toHaveLength(1);
  });

  it('goes on when the client’s output breaks', async () => {
    const { output, process, outcomes, exit, session } = setUp();
    await nextRound();
    output.destroy(new Error('gone'));
    process.stdout.write(Buffer.alloc(500_000));
    process.stdout.end();
    process.stderr.end();
    exit(0);
    await session;
    expect(outcomes).toHaveLength(1);
  });

  it('says why the command could not be opened', async () => {
    const { peer, outcomes, clock } = setUp();
    await runExec(peer, () => Promise.reject(new Error('no such container')), clock);
    expect(outcomes).toEqual([{ kind: 'failed', message: 'no such container' }]);
  });
});
