import { describe, expect, it } from 'vitest';
import { type Pod } from '#kube/pod/pod.js';
import { type ManifestProblem } from './manifest-problem.js';
import { keepPods, type SourcePod, toSourcePod } from './source-pod.js';

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
