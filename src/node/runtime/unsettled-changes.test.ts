import { expect, it } from 'vitest';
import { saysNameTaken } from './unsettled-changes.js';

it.each([
  ['CRI_ALREADY_EXISTS', 'there it is', true],
  ['CRI_UNKNOWN', 'failed to reserve container name "a": name "a" is reserved for "0123"', true],
  ['CRI_INTERNAL', 'error reserving ctr name a for id 0123:\nname is reserved', true],
  ['CRI_UNKNOWN', 'what is reserved has no name', false],
  ['CRI_UNKNOWN', 'the rename is reserved', false],
  ['CRI_NOT_FOUND', 'name "a" is reserved', false],
])('%s with %j says that a name is taken: %s', (code, message, isTaken) => {
  expect(saysNameTaken(code, message)).toBe(isTaken);
});

it('says so at once of a message in which somebody has written one of the words again and again', () => {
  expect(saysNameTaken('CRI_UNKNOWN', 'name '.repeat(200_000))).toBe(false);
});
