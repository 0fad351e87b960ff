import { expect, it } from 'vitest';
import { renderOutcome } from './command-status.js';

it('an exit code stands where kubectl looks for it', () => {
  const status = JSON.parse(renderOutcome({ kind: 'exited', code: 42 }, 'status').toString()) as unknown;
  expect(status).toMatchObject({
    status: 'Failure',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '42' }] },
  });
});

it('exit code 0 is a success, and no text at all in the older versions', () => {
  expect(JSON.parse(renderOutcome({ kind: 'exited', code: 0 }, 'status').toString())).toEqual({
    metadata: {},
    status: 'Success',
  });
  expect(renderOutcome({ kind: 'exited', code: 0 }, 'text')).toHaveLength(0);
});

it('what could not be run is an internal error with the sentence', () => {
  const outcome = { kind: 'failed', message: 'no such program' } as const;
  expect(JSON.parse(renderOutcome(outcome, 'status').toString())).toMatchObject({
    status: 'Failure',
    reason: 'InternalError',
    code: 500,
    message: 'Internal error occurred: no such program',
  });
  expect(renderOutcome(outcome, 'text').toString()).toContain('no such program');
});
