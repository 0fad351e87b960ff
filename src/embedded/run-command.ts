import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { status } from '@grpc/grpc-js';
import { findCommandFault } from './resolve-command.js';
import { RpcError, refused } from './rpc-error.js';
import { type ContainerCommand } from './supervisor-script.js';

/** How long a command may take. */
export interface RunCommandOptions {
  /** In milliseconds; 0 for no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
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
 * Runs a command to its end in a session of its own.
 *
 * Rejects with DEADLINE_EXCEEDED when the time is over and with CANCELLED when the signal aborts, after the
 * command's process group was killed; with UNKNOWN when it cannot be executed.
 */
export async function runCommand(
  command: ContainerCommand,
  options: RunCommandOptions,
): Promise<CommandResult> {
  const fault = await findCommandFault(command);
  if (fault !== undefined)
    throw refused(`failed to exec in container: unable to start container process: ${fault}`);
  const [file = '', ...args] = command.argv;
  const child = spawn(file, args, {
    cwd: command.workingDir,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: Object.fromEntries(command.environment.map(splitVariable)),
  });
  const stdout = collect(child, 'stdout');
  const stderr = collect(child, 'stderr');
  const exitCode = await waitForExit(child, options);
  return { stdout: stdout(), stderr: stderr(), exitCode };
}

function splitVariable(entry: Buffer): [string, string] {
  const text = entry.toString();
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

function collect(child: ChildProcess, stream: 'stdout' | 'stderr'): () => Buffer {
  const chunks: Buffer[] = [];
  let room = MAX_OUTPUT_BYTES;
  child[stream]?.on('data', (chunk: Buffer) => {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= Math.min(room, chunk.length);
  });
  return () => Buffer.concat(chunks);
}

function waitForExit(child: ChildProcess, { timeoutMs, signal }: RunCommandOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    let failure: RpcError | undefined;
    const giveUp = (code: status, message: string) => {
      failure ??= new RpcError(code, message);
      killGroup(child);
    };
    const cancel = () => giveUp(status.CANCELLED, 'the caller of the exec is gone');
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    const limit =
      timeoutMs > 0
        ? setTimeout(
            () => giveUp(status.DEADLINE_EXCEEDED, `exec: timeout of ${timeoutMs / 1000} s exceeded`),
            Math.min(timeoutMs, 2 ** 31 - 1),
          )
        : undefined;
    const settle = (code: number | null, endSignal: NodeJS.Signals | null) => {
      clearTimeout(limit);
      signal.removeEventListener('abort', cancel);
      child.stdout?.destroy();
      child.stderr?.destroy();
      if (failure === undefined) resolve(code ?? 128 + constants.signals[endSignal ?? 'SIGKILL']);
      else reject(failure);
    };
    child.once('error', (error) => {
      failure ??= refused(`failed to exec in container: ${error.message}`);
      settle(null, null);
    });
    child.once('exit', (code, endSignal) => {
      const patience = setTimeout(() => settle(code, endSignal), LAST_OUTPUT_MS);
      child.once('close', () => {
        clearTimeout(patience);
        settle(code, endSignal);
      });
    });
  });
}

function killGroup(child: ChildProcess): void {
  try {
    // Its number cannot be anybody else's: until we have seen its exit it is not reaped.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL');
    }
  } catch {
    // It has just ended.
  }
}
