import { expect, it } from 'vitest';
import { parseFieldSelector } from './field-selector.js';

const FIELDS = {
  'metadata.name': ({ name }: { name: string; phase: string }) => name,
  'status.phase': ({ phase }: { name: string; phase: string }) => phase,
};
const item = { name: 'a,b=c\\d', phase: 'Running' };

it.each([
  ['', true],
  ['status.phase=Running', true],
  ['status.phase==Running', true],
  ['status.phase!=Running', false],
  ['status.phase!=Failed,metadata.name=a\\,b\\=c\\\\d', true],
  ['metadata.name=a', false],
  [',status.phase=Running,', true],
])('%o', (text, expected) => {
  expect(parseFieldSelector(text, FIELDS)(item)).toBe(expected);
});

it('refuses fields that cannot be asked for, and what is no selector', () => {
  expect(() => parseFieldSelector('spec.foo=1', FIELDS)).toThrow('field label not supported: spec.foo');
  expect(() => parseFieldSelector('constructor=1', FIELDS)).toThrow('field label not supported');
  expect(() => parseFieldSelector('status.phase', FIELDS)).toThrow("can't understand");
});
