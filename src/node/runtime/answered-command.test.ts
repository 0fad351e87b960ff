import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { runAnsweredCommand } from './answered-command.js';

const ANSWER = { stdout: Buffer.from('fine'), stderr: Buffer.alloc(0), exitCode: 0 };
const NEVER = Infinity;

/** When the runtime answers, in milliseconds after it was asked. */
interface Runtime {
  readonly command: number;
  readonly other: number;
  /** Whether the runtime stands still as a whole until then, and goes on with everything at once; never without. */
  readonly goesOnAtMs?: number;
}

interface Run {
  readonly outcome: string;
  readonly endedMs: number;
  readonly lateAnswers: number;
  /** How often the command was given up as still open. */
  readonly leftOpen: number;
}

async function run(
  timeoutSeconds: number,
  { command, other, goesOnAtMs = 0 }: Runtime,
  clientTimeoutMs = 120_000,
): Promise<Run> {
  const clock = new FakeClock();
  const startMs = clock.monotonicMs();
  let lateAnswers = 0;
  let leftOpen = 0;
  const answer = async <T>(what: T, afterMs: number, timeoutMs: number, signal?: AbortSignal): Promise<T> => {
    const elapsedMs = clock.monotonicMs() - startMs;
    const dueMs = Math.max(afterMs, goesOnAtMs - elapsedMs);
    await clock.sleep(Math.min(dueMs, timeoutMs, 10_000_000), signal);
    if (dueMs > timeoutMs) throw new PodloopError('CRI_DEADLINE_EXCEEDED', 'our own deadline');
    return what;
  };
  const client = {
    execSync: async (_request: unknown, options: { timeoutMs?: number } = {}) =>
      await answer(ANSWER, command, options.timeoutMs ?? (timeoutSeconds === 0 ? NEVER : clientTimeoutMs)),
    listContainers: async (_request: unknown, options: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
      await answer({ containers: [] }, other, options.timeoutMs ?? clientTimeoutMs, options.signal),
  };
  let ended: Run | undefined;
  const request = { containerId: 'a', cmd: ['check'], timeout: BigInt(timeoutSeconds) };
  void runAnsweredCommand(request, {
    client: client,
    ...{ clock, pod: undefined },
    onLeftOpen: () => {
      leftOpen++;
      return () => lateAnswers++;
    },
  })
    .then(
      ({ stdout }) => stdout.toString(),
      (error: unknown) => (error instanceof PodloopError ? error.code : String(error)),
    )
    .then((outcome) => {
      ended = { outcome, endedMs: clock.monotonicMs() - startMs, lateAnswers: 0, leftOpen: 0 };
    });
  for (let second = 0; second < 400 && ended === undefined; second++) await clock.advance(1_000);
  const { outcome = 'nothing', endedMs = NEVER } = ended ?? {};
  await clock.advance(400_000);
  return { outcome, endedMs, lateAnswers, leftOpen };
}

describe('a command that the runtime does not answer in time', () => {
  it('is given up when the runtime answers something else', async () => {
    expect(await run(1, { command: NEVER, other: 0 })).toEqual({
      ...{ outcome: 'COMMAND_UNANSWERED', endedMs: 12_000, lateAnswers: 0, leftOpen: 1 },
    });
  });

  it('says nothing while the runtime answers nothing', async () => {
    const { outcome } = await run(1, { command: NEVER, other: NEVER });
    expect(outcome).toBe('CRI_UNAVAILABLE');
  });

  it('is answered when the runtime as a whole stood still', async () => {
    expect(await run(1, { command: 0, other: 0, goesOnAtMs: 15_000 })).toMatchObject({ outcome: 'fine' });
    expect(await run(1, { command: 0, other: 0, goesOnAtMs: 90_000 })).toMatchObject({
      ...{ outcome: 'CRI_UNAVAILABLE', lateAnswers: 1 },
    });
  });

  it.each([11_500, 15_000, 20_000])(
    'is not left open when it is answered during the check, after %d ms',
    async (command) => {
      expect(await run(1, { command, other: NEVER })).toMatchObject({ outcome: 'fine', leftOpen: 0 });
    },
  );

  it('reports when it is answered after all, and not when the call itself is given up', async () => {
    expect(await run(1, { command: 60_000, other: 0 })).toMatchObject({ lateAnswers: 1 });
    expect(await run(1, { command: NEVER, other: 0 })).toMatchObject({ lateAnswers: 0 });
  });

  it('may take as long as it likes without a timeout', async () => {
    expect(await run(0, { command: 300_000, other: 0 })).toMatchObject({ outcome: 'fine' });
  });

  // Whichever is shorter, the limit of the client's calls or the time of the command.
  const timeouts = [1, 5, 60];
  const limits = [1_000, 10_000, 120_000, 600_000];
  const answers = [0, 900, 9_000, 20_000, 100_000, NEVER];
  const cases = timeouts.flatMap((timeout) =>
    limits.flatMap((limit) => answers.map((answer) => [timeout, limit, answer] as const)),
  );
  it.each(cases)(
    'with a timeout of %i s and a limit of %i ms and an answer after %d ms has one outcome',
    async (timeout, limit, command) => {
      const isInTime = command <= timeout * 1_000 + 10_000;
      const answering = await run(timeout, { command, other: 100 }, limit);
      expect(answering.outcome).toBe(isInTime ? 'fine' : 'COMMAND_UNANSWERED');
      expect(answering.endedMs).toBeLessThanOrEqual(timeout * 1_000 + 13_000);
      const away = await run(timeout, { command, other: NEVER }, limit);
      expect(away.outcome).toBe(command <= timeout * 1_000 + 20_000 ? 'fine' : 'CRI_UNAVAILABLE');
      expect(away.endedMs).toBeLessThanOrEqual(timeout * 1_000 + 21_000);
    },
  );
});
