import { readFileSync } from 'node:fs';
import { format } from 'prettier';
import { expect, it } from 'vitest';
import { CONFORMANCE_PAGE, readPart } from '../conformance-part.js';
import { formatE2ePart, type KeptResult, parseE2ePart } from './e2e-part.js';
import { KNOWN_REASONS } from './known-reasons.js';
import { specName } from './spec-choice.js';

const PASSED: KeptResult = {
  ...{ path: ['[sig-x] A', 'one_b|c', 'works [NodeConformance]'], conformance: true, state: 'passed' },
  ...{ message: '', place: 'a.go:1', commit: 'abc1234', date: '2026-11-23', repeated: false },
};
const RESULTS: readonly KeptResult[] = [
  PASSED,
  { ...PASSED, path: ['[sig-x] A', 'two *stars* <b>'], conformance: false, repeated: true },
  { ...PASSED, path: ['[sig-x] B', 'breaks'], state: 'failed', message: 'got 3\nwant 4', repeated: true },
];
const FACTS = { kubernetes: 'v1.2.3', containerd: '1.7', kernel: '6.1', cgroups: 'cgroup v1' };

it('writes every spec with what became of it, and the sums', () => {
  const part = formatE2ePart(RESULTS, FACTS);
  expect(part).toContain('On 2026-11-23 at commit abc1234, with Kubernetes v1.2.3');
  expect(part).toContain('| `[Conformance]` | 1 | 2 |');
  expect(part).toContain('| all | 2 | 3 |');
  expect(part).toContain('| breaks | C | **not passed**: got 3 |');
});

it('finds specs again in what it wrote, formatted or not', async () => {
  const part = formatE2ePart(RESULTS, FACTS);
  const expected = RESULTS.map((result) => ({ name: specName(result), passed: result.state === 'passed' }));
  for (const text of [part, await format(part, { parser: 'markdown' })])
    expect(parseE2ePart(text).map(({ name, passed }) => ({ name, passed }))).toEqual(expected);
});

it('gives a reason of ours for each spec that the page says did not pass, and no reason for others', () => {
  const page = readPart(readFileSync(CONFORMANCE_PAGE, 'utf8'), 'e2e');
  const failed = parseE2ePart(page).filter(({ passed }) => !passed);
  const used = new Set<unknown>();
  for (const { name, outcome } of failed) {
    const known = KNOWN_REASONS.find(({ spec }) => spec.test(name));
    expect(known, name).toBeDefined();
    expect(outcome).toContain(known?.reason);
    used.add(known);
  }
  expect(KNOWN_REASONS.filter((known) => !used.has(known))).toEqual([]);
});
