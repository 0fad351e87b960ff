import { describe, expect, it } from 'vitest';
import { type Pod } from '../model/pod.js';
import { formatManifestProblem, type ManifestProblem } from './manifest-problem.js';
import { keepPods, mergePods, type SourcePod, toSourcePod } from './source-pod.js';

function pod(name: string, { image = 'a', uid = '', file = 'f.yaml', line = 1 } = {}): SourcePod {
  const written: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...(uid === '' ? {} : { uid }) } },
    spec: { containers: [{ name: 'c', image }] },
  };
  return toSourcePod({ pod: written, place: { file, line, column: 1 } }, { source: 'file', nodeName: 'n' });
}

const PROBLEM: ManifestProblem = {
  ...{ file: 'f.yaml', line: 1, column: 1, kind: 'syntax', path: '', message: 'x', pod: '', namespace: '' },
};

describe('the pods of a file', () => {
  const before = [pod('a'), pod('b', { uid: 'u' })];

  it('are those that were read, when nothing is wrong with it', () => {
    expect(keepPods(before, { pods: [pod('c')], problems: [] })).toEqual({ pods: [pod('c')], kept: [] });
  });

  it('are those of before, too, while something is wrong, unless they were read', () => {
    const pods = [pod('a', { image: 'b' }), pod('c', { uid: 'u' })];
    expect(keepPods(before, { pods, problems: [PROBLEM] })).toEqual({ pods, kept: [] });
    expect(keepPods(before, { pods: [pod('c')], problems: [PROBLEM] })).toEqual({
      ...{ pods: [pod('c'), ...before], kept: ['default/a-n', 'default/b-n'] },
    });
  });
});

describe('the pods of several files', () => {
  it('are all of them, but for those that an earlier one has by name or uid', () => {
    const files = [
      [pod('a', { file: 'a.yaml' }), pod('u', { uid: '1', file: 'a.yaml', line: 7 })],
      [pod('a', { file: 'b.yaml', image: 'b' }), pod('v', { uid: '1', file: 'b.yaml', line: 9 })],
    ];
    const { pods, problems } = mergePods(files);
    expect(pods).toEqual(files[0]);
    expect(problems.map(formatManifestProblem)).toEqual([
      'b.yaml:1:1: metadata.name: Duplicate value: "a": stands at a.yaml:1 already',
      'b.yaml:9:1: metadata.uid: Duplicate value: "1": stands at a.yaml:7 already',
    ]);
  });
});
