import { type PodRef } from '#kube/pod/pod-ref.js';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { hasCode, messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import {
  errored,
  failed,
  heldBack,
  MAX_OUTPUT_BYTES,
  type ProbeOutcome,
  silent,
  succeeded,
  unanswered,
} from './probe-outcome.js';
import { type ProbeType } from './probe-result.js';
import { type UnansweredCommands } from './unanswered-commands.js';

/** Options of {@link probeByExec}. */
export interface ExecProbe {
  readonly clock: Clock;
  readonly commands: Pick<RuntimeChanges, 'execSync'>;
  readonly unansweredCommands: UnansweredCommands;
  readonly pod: PodRef;
  readonly containerId: string;
  readonly type: ProbeType;
  readonly command: readonly string[];
  readonly timeoutMs: number;
}

/**
 * Runs a command in the container: exit code 0 is success; any other exit code, and a timeout, is failure.
 *
 * The runtime enforces the timeout. A command that it leaves unanswered while it answers other calls has
 * timed out as well. A runtime that fails or answers nothing says nothing about the container; neither does a
 * probe that is skipped because too many of its commands are unanswered.
 */
export async function probeByExec(probe: ExecProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, commands, unansweredCommands, pod, containerId, command, timeoutMs } = probe;
  const key = `${containerId} ${probe.type}`;
  if (!unansweredCommands.mayBegin(key)) {
    const count = unansweredCommands.countOf(key);
    return heldBack(`${count} commands of this probe are still unanswered, the next one has to wait`);
  }
  const begunMs = clock.monotonicMs();
  try {
    const { exitCode, stdout, stderr } = await commands.execSync(
      containerId,
      command,
      Math.ceil(timeoutMs / 1_000),
      { signal, pod, mayBeCut: true, onLeftOpen: () => unansweredCommands.add(key, begunMs) },
    );
    unansweredCommands.clear(key);
    const output = firstBytes(stdout, stderr);
    return exitCode === 0 ? succeeded(output) : failed(output);
  } catch (error) {
    signal.throwIfAborted();
    const isUnanswered = hasCode(error, 'COMMAND_UNANSWERED');
    if (!isUnanswered && !hasCode(error, 'CRI_DEADLINE_EXCEEDED')) return errored(messageOf(error));
    if (!isUnanswered) unansweredCommands.clear(key);
    const text = JSON.stringify(command.join(' '));
    const message = `command timed out: ${text} timed out after ${formatGoDuration(timeoutMs)}`;
    return isUnanswered ? unanswered(message, clock.monotonicMs() - begunMs) : silent(message);
  }
}

/** CRI returns them separately, so their original order is lost. */
function firstBytes(stdout: Buffer, stderr: Buffer): string {
  const bytes = Buffer.concat([stdout.subarray(0, MAX_OUTPUT_BYTES), stderr.subarray(0, MAX_OUTPUT_BYTES)]);
  return bytes.subarray(0, MAX_OUTPUT_BYTES).toString('utf8');
}
