import { type PodRef } from '../model/pod-ref.js';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { type Clock } from '../util/clock.js';
import { hasCode, messageOf } from '../util/errors.js';
import { formatGoDuration } from '../util/go-duration.js';
import { linkAbort } from '../util/linked-abort.js';
import { errored, failed, MOST_OUTPUT_BYTES, type ProbeOutcome, silent, succeeded } from './probe-outcome.js';

/** What {@link probeByExec} is given. */
export interface ExecProbe {
  readonly clock: Clock;
  readonly commands: Pick<RuntimeChanges, 'execSync'>;
  readonly pod: PodRef;
  readonly containerId: string;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

/** How long a runtime may take on top of the timeout, to wait for a turn, start the command and kill it. */
const RUNTIME_MARGIN_MS = 30_000;

/**
 * Runs a command in the container: exit code 0 is success, any other is failure, and so is a timeout, which the
 * runtime keeps. A runtime that fails or does not answer says nothing of the container.
 */
export async function probeByExec(probe: ExecProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, commands, pod, containerId, command, timeoutMs } = probe;
  const patience = linkAbort(signal);
  const timer = clock.setTimer(timeoutMs + RUNTIME_MARGIN_MS, () => {
    patience.abort(
      new Error(`the runtime did not answer within ${formatGoDuration(timeoutMs + RUNTIME_MARGIN_MS)}`),
    );
  });
  try {
    const { exitCode, stdout, stderr } = await commands.execSync(
      containerId,
      command,
      Math.ceil(timeoutMs / 1_000),
      { signal: patience.signal, pod },
    );
    const output = firstBytes(stdout, stderr);
    return exitCode === 0 ? succeeded(output) : failed(output);
  } catch (error) {
    signal.throwIfAborted();
    if (!hasCode(error, 'CRI_DEADLINE_EXCEEDED')) return errored(messageOf(error));
    return silent(
      `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${formatGoDuration(timeoutMs)}`,
    );
  } finally {
    timer.cancel();
    patience.unlink();
  }
}

/** As CRI has them apart, nobody knows how they were mixed. */
function firstBytes(stdout: Buffer, stderr: Buffer): string {
  const bytes = Buffer.concat([stdout.subarray(0, MOST_OUTPUT_BYTES), stderr.subarray(0, MOST_OUTPUT_BYTES)]);
  return bytes.subarray(0, MOST_OUTPUT_BYTES).toString('utf8');
}
