import { expect, it } from 'vitest';
import { focusPattern, sampleSpecs, specName } from './spec-choice.js';

const SPEC = {
  path: ['[sig-node] Probes', 'with a file (a.b)', 'should restart [NodeConformance] [Conformance]'],
};

it('names a spec without its marks, but with the group that owns it', () => {
  expect(specName(SPEC)).toBe('[sig-node] Probes with a file (a.b) should restart');
});

it('makes a pattern that matches these specs and no others', () => {
  const pattern = new RegExp(focusPattern([SPEC, { path: ['[sig-node] Pods', 'run'] }]));
  expect(SPEC.path.join(' ')).toMatch(pattern);
  expect('[sig-node] Pods run [LinuxOnly]').toMatch(pattern);
  expect('[sig-node] Pods run away').not.toMatch(pattern);
  expect('[sig-node] Probes with a file (aXb) should restart').not.toMatch(pattern);
});

it('takes the same specs for the same seed, each at most once', () => {
  const all = Array.from({ length: 20 }, (_, index) => index);
  const sample = sampleSpecs(all, 8, 3);
  expect(sampleSpecs(all, 8, 3)).toEqual(sample);
  expect(new Set(sample).size).toBe(8);
  expect(sampleSpecs(all, 8, 4)).not.toEqual(sample);
  expect(sampleSpecs(all, 99, 1).sort((one, other) => one - other)).toEqual(all);
});
