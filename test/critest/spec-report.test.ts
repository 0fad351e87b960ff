import { expect, it } from 'vitest';
import { countPasses, parseSpecReport } from './spec-report.js';

function spec(text: string, more: object = {}) {
  return {
    ContainerHierarchyTexts: ['[k8s.io] Container', 'basics'],
    LeafNodeType: 'It',
    LeafNodeText: text,
    LeafNodeLocation: { FileName: '/somewhere/pkg/validate/container.go', LineNumber: 82 },
    State: 'passed',
    ...more,
  };
}

it('reads names, marks and places from the report of the suite', () => {
  const text = JSON.stringify([{ SpecReports: [spec('starts [Conformance]')] }]);
  expect(parseSpecReport(text)).toEqual([
    {
      path: ['Container', 'basics', 'starts'],
      conformance: true,
      state: 'passed',
      message: '',
      place: 'container.go:82',
    },
  ]);
});

it('takes the mark of a group for all its specs', () => {
  const ContainerHierarchyTexts = ['[k8s.io] Multiple Containers [Conformance]'];
  const [result] = parseSpecReport(
    JSON.stringify([{ SpecReports: [spec('logs', { ContainerHierarchyTexts })] }]),
  );
  expect([result!.conformance, result!.path]).toEqual([true, ['Multiple Containers', 'logs']]);
});

it('calls every state but passed and skipped a failure, and leaves set-up out', () => {
  const reports = ['passed', 'skipped', 'failed', 'panicked', 'interrupted', 'timedout', 'aborted'].map(
    (State, at) => spec(`spec ${at}`, { State, Failure: { Message: State } }),
  );
  const results = parseSpecReport(
    JSON.stringify([{ SpecReports: [spec('', { LeafNodeType: 'BeforeSuite' }), ...reports] }]),
  );
  expect(results.map(({ state }) => state)).toEqual([
    'passed',
    'skipped',
    'failed',
    'failed',
    'failed',
    'failed',
    'failed',
  ]);
  expect(results[3]!.message).toBe('panicked');
});

it('counts a skipped spec as not passed', () => {
  const results = parseSpecReport(
    JSON.stringify([
      {
        SpecReports: [
          spec('a [Conformance]'),
          spec('b [Conformance]', { State: 'skipped' }),
          spec('c'),
          spec('d', { State: 'failed' }),
        ],
      },
      { SpecReports: null },
    ]),
  );
  expect(countPasses(results)).toEqual({
    conformance: { passed: 1, all: 2 },
    all: { passed: 2, all: 4 },
  });
});
