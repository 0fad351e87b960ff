import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { type Clock } from '#base/time/clock.js';
import { refused } from '../rpc-error.js';
import { killGroup } from '#base/proc/kill-group.js';

/** One run of a helper program. */
export interface HelperCall {
  /** The program's absolute path and its arguments. */
  readonly argv: readonly string[];
  readonly input?: string;
  /** Replaces the environment; nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** It is killed with all of its process group after that long. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly clock: Clock;
}

/** What a helper left when it ended by itself. */
export interface HelperResult {
  /** 128 + n after a signal that this code did not send. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The rest is read and dropped: no helper writes this much. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** How long something that the helper left running may hold its output open. */
const LAST_OUTPUT_MS = 500;
/** A process in an uninterruptible sleep ignores SIGKILL: nobody waits for it longer than this. */
const DEATH_MS = 2_000;

/**
 * Runs a helper program to its end, whatever its exit code is.
 *
 * Rejects when it cannot be executed, when its deadline passes, and with the signal's reason when that aborts; the
 * helper's process group was killed then. An abort before the start starts nothing.
 */
export function runHelper(call: HelperCall): Promise<HelperResult> {
  const { argv, input, env = {}, deadlineMs, signal, clock } = call;
  const [file = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const child = spawn(file, args, { cwd: '/', detached: true, stdio: 'pipe', env });
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    let failure: Error | undefined;
    let lastWait = clock.setTimer(deadlineMs, () =>
      giveUp(refused(`${argv.join(' ')}: did not end within ${deadlineMs / 1000} s and was killed`)),
    );
    const giveUp = (reason: Error): void => {
      failure ??= reason;
      if (child.exitCode === null && child.signalCode === null) killGroup(child);
      lastWait.cancel();
      lastWait = clock.setTimer(DEATH_MS, () => settle(-1));
    };
    const onAbort = (): void => giveUp(signal?.reason as Error);
    const settle = (exitCode: number): void => {
      lastWait.cancel();
      signal?.removeEventListener('abort', onAbort);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      child.unref();
      if (failure === undefined) resolve({ exitCode, stdout: stdout(), stderr: stderr() });
      else reject(failure);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    child.once('error', (error) => {
      failure ??= refused(`${file} cannot be executed: ${error.message}`);
      settle(-1);
    });
    child.once('exit', (code, endSignal) => {
      const exitCode = code ?? (endSignal === null ? -1 : 128 + constants.signals[endSignal]);
      lastWait.cancel();
      lastWait = clock.setTimer(LAST_OUTPUT_MS, () => settle(exitCode));
      child.once('close', () => settle(exitCode));
    });
    // A helper that ends before it has read everything says more in its own words than EPIPE does.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** The same, but rejects with what the helper wrote to its stderr unless it exits with 0. */
export async function runHelperWell(call: HelperCall): Promise<string> {
  const result = await runHelper(call);
  if (result.exitCode !== 0) throw refused(describeFailure(call.argv, result));
  return result.stdout;
}

/** Describes how a helper failed that exited with something else than 0. */
export function describeFailure(argv: readonly string[], { exitCode, stdout, stderr }: HelperResult): string {
  const words = (stderr.trim() || stdout.trim()).slice(0, 1000).replaceAll(/\s*\n\s*/g, '; ');
  const command = argv.join(' ');
  const shown = command.length > 1000 ? `${command.slice(0, 1000)}…` : command;
  return `${shown}: exit code ${exitCode}${words === '' ? '' : `: ${words}`}`;
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let room = MAX_OUTPUT_BYTES;
  stream.on('data', (chunk: Buffer) => {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
  });
  return () => Buffer.concat(chunks).toString();
}
