import { spawn } from 'node:child_process';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { killGroup } from '#base/proc/kill-group.js';

/** What {@link runInGroup} needs. */
export interface RunInGroupOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Then it is ended, and what it has started. */
  readonly limitMs: number;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** What became of a program. */
export interface GroupEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when it was ended, by a signal or for its limit. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isLate: boolean;
}

const LARGEST_OUTPUT_BYTES = 1024 * 1024;
/** So long after its end others may still write where it wrote: what it has started, and left behind. */
const LINGER_MS = 1_000;

/**
 * Runs a program that is asked for what it writes. Rejects with what kept it from being started.
 *
 * It leads a group of its own, and nobody waits for others that hold its output once it has ended or its time is over: they are
 * killed then. Those that let go of its output, as what is to go on beside it does, are left alone.
 */
export async function runInGroup(options: RunInGroupOptions): Promise<GroupEnd> {
  const { command, args, env, limitMs, clock } = options;
  const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  return await new Promise((resolve, reject) => {
    child.on('error', reject);
    // The error is on its way; where no more files may be opened there are not even pipes.
    if (child.pid === undefined) return;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < LARGEST_OUTPUT_BYTES) output[name] += text;
      });
    }
    let isSettled = false;
    const settle = (end: Omit<GroupEnd, 'stdout' | 'stderr'>): void => {
      isSettled = true;
      timer.cancel();
      resolve({ ...output, ...end });
    };
    const cutOff = (end: Omit<GroupEnd, 'stdout' | 'stderr'>): void => {
      if (isSettled) return;
      settle(end);
      for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
      killGroup(child);
      // One that hangs in the kernel cannot be killed.
      child.unref();
    };
    const late = { code: null, signal: null, isLate: true };
    let timer: ClockTimer = clock.setTimer(limitMs, () => cutOff(late), { unref: true });
    child.once('exit', (code, signal) => {
      timer.cancel();
      if (isSettled) return;
      // After a stall of ours what was written before is read first.
      const end = (): unknown => setImmediate(() => cutOff({ code, signal, isLate: false }));
      timer = clock.setTimer(LINGER_MS, end, { unref: true });
    });
    child.once('close', (code, signal) => settle({ code, signal, isLate: false }));
  });
}
