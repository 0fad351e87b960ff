import { type Readable } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { defer } from '../../deferred.js';
import { type ContainerProcess } from '../../isolation/container-process.js';
import { RpcError } from '../../rpc-error.js';

/** How long a command may take. */
export interface CollectOptions {
  /** In milliseconds; 0 for no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** What a command left. */
export interface CommandResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** 128 + n after a signal. */
  readonly exitCode: number;
}

/** As much of each output as is kept; the rest is read and dropped. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** How long something that the command left running may hold its output open. */
const LAST_OUTPUT_MS = 500;

/**
 * Waits for the end of a command and keeps what it writes.
 *
 * Rejects with DEADLINE_EXCEEDED when the time is over and with CANCELLED when the signal aborts, after the command
 * was killed and is gone: whoever looks next does not find it any more.
 */
export async function collectOutput(
  process: ContainerProcess,
  options: CollectOptions,
): Promise<CommandResult> {
  const { clock, signal, timeoutMs } = options;
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr);
  const failure = defer<RpcError>();
  const over = new AbortController();
  const givenUp = new AbortController();
  const giveUp = (code: status, message: string) => {
    givenUp.abort();
    process.kill();
    // Who is killed by a process that leads into a container ends a moment after that one; then its output ends.
    const gone = Promise.all([process.exit, stdout.ended, stderr.ended]);
    void Promise.race([gone, wait(LAST_OUTPUT_MS, clock, over.signal)]).then(() =>
      failure.resolve(new RpcError(code, message)),
    );
  };
  const cancel = () => giveUp(status.CANCELLED, 'the caller of the exec is gone');
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  let limit: ClockTimer | undefined;
  if (timeoutMs > 0) {
    const message = `exec: timeout of ${timeoutMs / 1000} s exceeded`;
    // A command that ended in time while this process was stopped, or had no CPU, has not exceeded its time.
    const onExpired = () => giveUp(status.DEADLINE_EXCEEDED, message);
    limit = startFairDeadline({ clock, deadlineMs: timeoutMs, onExpired });
  }
  try {
    const ended = await Promise.race([process.exit, failure.promise]);
    const first = givenUp.signal.aborted ? await failure.promise : ended;
    if (first instanceof RpcError) throw first;
    await Promise.race([Promise.all([stdout.ended, stderr.ended]), wait(LAST_OUTPUT_MS, clock, over.signal)]);
    return { stdout: stdout.bytes(), stderr: stderr.bytes(), exitCode: first };
  } finally {
    over.abort();
    limit?.cancel();
    signal.removeEventListener('abort', cancel);
    process.stdout?.destroy();
    process.stderr?.destroy();
  }
}

function wait(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return clock.sleep(delayMs, signal).catch(() => undefined);
}

function collect(stream: Readable | undefined): { bytes: () => Buffer; ended: Promise<void> } {
  const chunks: Buffer[] = [];
  let room = MAX_OUTPUT_BYTES;
  stream?.on('data', (chunk: Buffer) => {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
  });
  const ended = new Promise<void>((resolve) => {
    if (stream === undefined) resolve();
    else stream.once('close', resolve);
  });
  return { bytes: () => Buffer.concat(chunks), ended };
}
