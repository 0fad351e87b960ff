import { appendFileSync } from 'node:fs';
import { type Reporter, type TestCase } from 'vitest/node';

/**
 * Writes each test's result as a line of JSON into the file that `PODLOOP_LIVE_REPORT` names as soon as the test is over: what a suite
 * that was cut off has proved until then is not lost.
 */
export default class LiveReporter implements Reporter {
  readonly #file = process.env['PODLOOP_LIVE_REPORT'] ?? '';

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (this.#file === '' || (state !== 'passed' && state !== 'failed')) return;
    const line = {
      // As vitest's own report has it.
      fullName: test.fullName.replaceAll(' > ', ' '),
      status: state,
      duration: test.diagnostic()?.duration,
      failureMessages: errors.map(({ stack, message }) => stack ?? message),
    };
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}
