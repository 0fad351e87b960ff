import { addAbortSignal, type Readable } from 'node:stream';
import { type LineOutput } from '../../line-output.js';

/** An answer is shorter than this; the rest is passed over. */
const MAX_ANSWER = 1_000;

/**
 * Reads the answer to a question that was asked on `asked`: whether it is `y` or `yes`. The end of the input, which is
 * Ctrl-D at a terminal, is a no. Rejects when the signal aborts.
 */
export async function isYes(
  stdin: Readable,
  asked: Pick<LineOutput, 'writeLine'>,
  signal: AbortSignal,
): Promise<boolean> {
  let answer = '';
  for await (const chunk of addAbortSignal(signal, stdin)) {
    answer += String(chunk);
    if (answer.includes('\n') || answer.length > MAX_ANSWER) break;
  }
  // Nobody has pressed Enter: what comes next begins in a line of its own.
  if (!answer.includes('\n')) await asked.writeLine('');
  return /^y(es)?$/i.test(answer.split('\n')[0]!.trim());
}
