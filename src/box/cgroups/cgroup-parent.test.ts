import { describe, expect, it } from 'vitest';
import { toCgroupPath } from './cgroup-parent.js';

describe('the cgroup parent of a pod', () => {
  it.each([
    ['', '/podloop'],
    ['/kubepods/burstable/pod1', '/kubepods/burstable/pod1'],
    ['kubepods', '/kubepods'],
    ['/a//b/./c/', '/a/b/c'],
    ['kubepods.slice', '/kubepods.slice'],
    [
      'kubepods-besteffort-pod1_2.slice',
      '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice',
    ],
    ['/system.slice/podloop.service', '/system.slice/podloop.service'],
    ['/kubepods.slice/kubepods-besteffort.slice', '/kubepods.slice/kubepods-besteffort.slice'],
    ['-.slice', '/'],
  ])('%j is the path %s', (parent, path) => {
    expect(toCgroupPath(parent)).toBe(path);
  });

  it.each(['..', '/a/../../b', 'a-.slice', '--.slice', '/a\0b', `/${'x'.repeat(256)}`, '/a'.repeat(17)])(
    'cannot be %j',
    (parent) => {
      expect(() => toCgroupPath(parent)).toThrow(/cgroup_parent/);
    },
  );
});
