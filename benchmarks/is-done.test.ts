import { expect, it } from 'vitest';
import { isDone } from './is-done.js';
import { readMachineFacts } from './machine-facts.js';

const facts = { ...readMachineFacts(), loadBefore: 0, commit: 'abc123', versions: { kubelet: 'v1.37.2' } };
const versions = { kubelet: 'v1.37.2' };
const kept = { full: true, settings: { pods: '500' }, facts };
const run = { full: true, settings: { pods: '500' }, commit: 'abc123', versions };

it('passes over what was found at the same commit with the same settings', () => {
  expect(isDone(kept, run)).toBe(true);
});

it('measures again what is of another commit, length or setting', () => {
  expect(isDone(undefined, run)).toBe(false);
  expect(isDone(kept, { ...run, commit: 'def456' })).toBe(false);
  expect(isDone(kept, { ...run, full: false })).toBe(false);
  expect(isDone(kept, { ...run, settings: { pods: '10' } })).toBe(false);
  expect(isDone(kept, { ...run, settings: { pods: '500', starts: '3' } })).toBe(false);
  expect(isDone(kept, { ...run, settings: {} })).toBe(false);
  expect(isDone(kept, { ...run, versions: { kubelet: 'v1.37.0' } })).toBe(false);
});

it('measures again what was measured with files that are in no commit', () => {
  const commit = 'abc123+';
  expect(isDone({ ...kept, facts: { ...facts, commit } }, { ...run, commit })).toBe(false);
});
