import { expect, it } from 'vitest';
import { ERROR_CODES, hasCode, isNotFound, isUnimplemented, messageOf, PodloopError } from './errors.js';

it("has its code, the table's `retryable`, and its cause", () => {
  const cause = new Error('socket hang up');
  const error = new PodloopError('CRI_UNAVAILABLE', 'runtime is gone', { cause });
  expect(error).toMatchObject({ name: 'PodloopError', code: 'CRI_UNAVAILABLE', retryable: true, cause });
  expect(new PodloopError('CRI_NOT_FOUND', 'gone').retryable).toBe(false);
});

it('is recognized by its code', () => {
  const error = new PodloopError('CRI_NOT_FOUND', 'no such container');
  expect(hasCode(error, 'CRI_ABORTED', 'CRI_NOT_FOUND')).toBe(true);
  expect(hasCode(error, 'CRI_ABORTED')).toBe(false);
  expect(isNotFound(error)).toBe(true);
  expect(isUnimplemented(error)).toBe(false);
  expect(isUnimplemented(new PodloopError('CRI_UNIMPLEMENTED', 'no such method'))).toBe(true);
  expect(isNotFound(Object.assign(new Error('alike'), { code: 'CRI_NOT_FOUND' }))).toBe(false);
});

it.each([
  [new Error('text'), 'text'],
  ['text', 'text'],
  [undefined, 'undefined'],
  [{ toString: (): string => 'own words' }, 'own words'],
])('finds the message of any thrown value (%#)', (thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});

it.each(Object.entries(ERROR_CODES))(
  '%s says in whole sentences when it occurs and what to do',
  (code, facts) => {
    expect(code).toMatch(/^[A-Z]+(_[A-Z0-9]+)+$/);
    expect(facts.when).toMatch(/^\S.*\.$/);
    expect(facts.remedy).toMatch(/^\S.*\.$/);
  },
);
