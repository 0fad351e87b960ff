import { describe, expect, it } from 'vitest';
import { cri } from '../../../watch/cri/index.js';
import { parentInInfo, readCgroupParent } from './read-cgroup-parent.js';

describe('the cgroup parent of a sandbox that somebody made', () => {
  it.each([
    [
      'what its configuration says',
      { config: { linux: { cgroup_parent: '/kubepods/pod1' } } },
      '/kubepods/pod1',
    ],
    [
      'nothing where its configuration says nothing, whatever its process is in',
      { config: { metadata: {} }, runtimeSpec: { linux: { cgroupsPath: '/k8s.io/abc' } } },
      '',
    ],
    [
      'the slice of its process where there is no configuration',
      { runtimeSpec: { linux: { cgroupsPath: 'kubepods-pod1.slice:crio:abc' } } },
      'kubepods-pod1.slice',
    ],
    [
      'the group above that of its process',
      { runtimeSpec: { linux: { cgroupsPath: '/kubepods/besteffort/pod1/crio-abc' } } },
      '/kubepods/besteffort/pod1',
    ],
    ['nothing where none is told', { pid: 7 }, ''],
    ['nothing where what is told is odd', { config: { linux: [] } }, ''],
  ])('is %s', (_what, info, parent) => {
    expect(parentInInfo(JSON.stringify(info))).toBe(parent);
  });

  it.each(['', 'no JSON', '[]', 'null'])('is empty where the runtime says %j', (text) => {
    expect(parentInInfo(text)).toBe('');
  });

  it('is asked of the runtime with all that it knows', async () => {
    const asked: unknown[] = [];
    const podSandboxStatus = (request: unknown): Promise<cri.PodSandboxStatusResponse> => {
      asked.push(request);
      const info = { info: JSON.stringify({ config: { linux: { cgroup_parent: '/a' } } }) };
      return Promise.resolve(cri.PodSandboxStatusResponse.fromPartial({ info }));
    };
    expect(await readCgroupParent({ podSandboxStatus }, 's1')).toBe('/a');
    expect(asked).toEqual([{ podSandboxId: 's1', verbose: true }]);
  });
});
