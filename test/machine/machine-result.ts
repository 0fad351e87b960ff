import { type ImageName } from './image-recipe.js';

/** A time-out under emulation says nothing about the code: it is no pass, and no failure either. */
export type Verdict = 'passed' | 'failed' | 'not judged';

/** What became of one test in a machine. */
export interface TestResult {
  readonly title: string;
  readonly verdict: Verdict;
  readonly seconds: number;
  /** The first lines of why it failed or was not judged. */
  readonly reason?: string;
}

/** A result as docs/results/machine.json has it. */
export interface MachineResult extends TestResult {
  readonly image: ImageName;
  readonly suite: string;
  /** As in `2026-11-28`. */
  readonly date: string;
  /** Of podloop. A `+` behind it: with changes that no commit has. */
  readonly commit: string;
}

/** What vitest's reporter `json` writes, as far as it is read here. */
interface VitestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly Assertion[];
  }[];
}

interface Assertion {
  readonly fullName: string;
  readonly status: string;
  readonly duration?: number | null;
  readonly failureMessages?: readonly string[] | null;
}

const MAX_REASON = 400;

/** How tests and their support say that something did not come in time, or that this machine cannot tell. */
const UNJUDGED = [
  /\b(?:Test|Hook) timed out in \d+/,
  // What vitest writes into the stack of such an error in the place of its message.
  /\bSTACK_TRACE_ERROR\b/,
  /\bin vain waited\b/,
  /\bwaited in vain\b/,
  /\bin vain expected\b/,
  /\bTimeoutError\b/,
  /\boperation was aborted due to timeout\b/,
  /\bDEADLINE_EXCEEDED\b/,
  /\bTimeout (?:waiting for worker|starting)\b/,
  /\bnot judged here\b/,
];

/**
 * The results of all tests that ran; skipped ones are left out. A file that failed although none of its tests did, such as
 * one whose set-up failed, has a result of its own. Throws on text that is no report.
 *
 * @param output what vitest wrote for people, where such failures are described.
 */
export function parseVitestReport(text: string, output = ''): TestResult[] {
  const report = JSON.parse(text) as VitestReport;
  // The runner itself gave up, such as on a worker that did not start in time.
  if (report.testResults.length === 0)
    return [{ title: 'the whole suite', seconds: 0, ...judgeFailure([output.slice(-MAX_REASON)]) }];
  return report.testResults.flatMap(({ status, message = '', assertionResults }) => {
    const results = assertionResults.flatMap((assertion) => toResult(assertion, message));
    if (status !== 'failed' || results.some(({ verdict }) => verdict !== 'passed')) return results;
    const why = message === '' ? describeFailedSuites(output) : message;
    return [...results, { title: 'the set-up of the file', seconds: 0, ...judgeFailure([why]) }];
  });
}

/** The results of a suite that was cut off, from the lines of inside/live-reporter.ts; a last line that is not whole is left out. */
export function parseLiveReport(text: string): TestResult[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.flatMap((line) => toResult(JSON.parse(line) as Assertion, ''));
}

function toResult(
  { fullName: title, status, duration, failureMessages }: Assertion,
  message: string,
): TestResult[] {
  const seconds = Math.round((duration ?? 0) / 100) / 10;
  if (status === 'passed') return [{ title, verdict: 'passed', seconds }];
  if (status !== 'failed') return [];
  const messages = failureMessages ?? [];
  return [{ title, seconds, ...judgeFailure(messages.length > 0 ? messages : [message]) }];
}

/** The part of vitest's words that is about hooks and files that failed. */
function describeFailedSuites(output: string): string {
  const at = output.indexOf('Failed Suites');
  if (at >= 0) return output.slice(output.indexOf('\n', at));
  const error = output.search(/^\s*(?:[A-Z]\w*)?Error\b/m);
  return error < 0 ? output.slice(-MAX_REASON) : output.slice(error);
}

/** Not judged when every message is one of {@link UNJUDGED}. */
export function judgeFailure(messages: readonly string[]): Pick<TestResult, 'verdict' | 'reason'> {
  const isUnjudged = (message: string): boolean => UNJUDGED.some((pattern) => pattern.test(message));
  const verdict = messages.length > 0 && messages.every(isUnjudged) ? 'not judged' : 'failed';
  const reason = messages
    .join('\n')
    .replaceAll(/\u001b\[[\d;]*m/g, '')
    .trim()
    .slice(0, MAX_REASON);
  return { verdict, reason };
}

/** What a suite that ended without a report came to, in one result. */
export function unreportedResult(how: { timedOut: boolean; code: number; output: string }): TestResult {
  const last = how.output.trim().split('\n').slice(-12).join('\n').slice(-MAX_REASON);
  return {
    title: 'the whole suite',
    verdict: how.timedOut ? 'not judged' : 'failed',
    seconds: 0,
    reason: how.timedOut ? `not over in time: ${last}` : `ended with ${how.code} and no report: ${last}`,
  };
}
