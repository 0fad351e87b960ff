import { type cri } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type ChangingClient } from './changing-client.js';
import { type CommandOptions } from './runtime-changes.js';

/** Options of {@link runAnsweredCommand}. */
export interface AnsweredCommandOptions {
  readonly client: Pick<ChangingClient, 'execSync' | 'listContainers'>;
  readonly clock: Clock;
  readonly pod: PodRef | undefined;
  /** See {@link CommandOptions}. */
  readonly onLeftOpen?: CommandOptions['onLeftOpen'];
}

/** A busy runtime starts commands late and reaps their processes late; beyond this, a command hangs. */
const ANSWER_MARGIN_MS = 10_000;
/** How long the runtime may take to answer another call. */
const WITNESS_TIMEOUT_MS = 10_000;
/**
 * A runtime that was frozen as a whole answers everything at once when it continues, the command included.
 */
const LAST_CHANCE_MS = 1_000;
/** The call stays open for as long as a kubelet would wait, so that a late answer is noticed. */
const LATE_ANSWER_MS = 120_000;

/**
 * Runs a command in a container, but does not wait for an answer that never comes.
 *
 * A runtime may delay an answer while something that the command has started keeps its output open, even
 * after it has killed the command itself. So, some time after the command's timeout, this function makes
 * another call. If that is answered and the command is not, the command is to blame, and it rejects with
 * COMMAND_UNANSWERED. If neither is answered, the runtime is away, and it rejects with CRI_UNAVAILABLE. No
 * other deadline decides.
 *
 * A timeout of 0 means none: the command may take any time.
 *
 * Source: kubelet v1.37.2, which takes the deadline of its own call for a timeout of the command, after two
 * minutes.
 */
export async function runAnsweredCommand(
  request: { readonly containerId: string; readonly cmd: string[]; readonly timeout: bigint },
  options: AnsweredCommandOptions,
): Promise<cri.ExecSyncResponse> {
  const { client, clock, pod, onLeftOpen } = options;
  const { containerId } = request;
  const timeoutMs = Number(request.timeout) * 1_000;
  if (timeoutMs === 0) return await client.execSync(request, { pod, containerId });
  const judging = new AbortController();
  const deadlineMs = timeoutMs + ANSWER_MARGIN_MS + WITNESS_TIMEOUT_MS + LAST_CHANCE_MS + LATE_ANSWER_MS;
  const deadline = clock.monotonicMs() + deadlineMs;
  let onLateAnswer: (() => void) | undefined;
  const call = client.execSync(request, { pod, containerId, timeoutMs: deadlineMs });
  const onAnswer = (): void => {
    judging.abort();
    // At its deadline the call is cancelled, and nobody knows what the runtime does with it.
    if (clock.monotonicMs() < deadline) onLateAnswer?.();
  };
  call.then(onAnswer, onAnswer);
  return await Promise.race([call, untilUnanswered()]);

  async function untilUnanswered(): Promise<cri.ExecSyncResponse> {
    await wait(timeoutMs + ANSWER_MARGIN_MS, clock, judging.signal);
    const problem = await findProblem();
    // The answer came meanwhile and ended the other call.
    if (judging.signal.aborted) return await call;
    if (problem === undefined) await wait(LAST_CHANCE_MS, clock, judging.signal);
    onLateAnswer = onLeftOpen?.();
    if (problem === undefined) {
      const seconds = formatGoDuration(timeoutMs);
      throw new PodloopError(
        'COMMAND_UNANSWERED',
        `the runtime answers other calls, but not the command, whose timeout of ${seconds} is over`,
      );
    }
    const waited = formatGoDuration(timeoutMs + ANSWER_MARGIN_MS);
    throw new PodloopError('CRI_UNAVAILABLE', `the runtime did not answer within ${waited}: ${problem}`);
  }

  /** Lists the container: one hanging pod does not block that, and every relist needs the same. */
  async function findProblem(): Promise<string | undefined> {
    try {
      const limits = { timeoutMs: WITNESS_TIMEOUT_MS, signal: judging.signal };
      await client.listContainers({ filter: { id: containerId } }, limits);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }
}

/** A wait that a stall of this process does not shorten. Never settles once the signal has aborted. */
async function wait(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const deadline = startFairDeadline({ clock, deadlineMs: delayMs, onExpired: resolve, unref: true });
    signal.addEventListener('abort', () => deadline.cancel(), { once: true });
    if (signal.aborted) deadline.cancel();
  });
}
