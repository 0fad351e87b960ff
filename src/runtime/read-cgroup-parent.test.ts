import { describe, expect, it } from 'vitest';
import { cri } from '../cri/index.js';
import { PodloopError } from '../util/errors.js';
import { readCgroupDriver } from './cgroup-driver.js';
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

describe('the cgroup driver of a runtime', () => {
  const answering = (answer: cri.DeepPartial<cri.RuntimeConfigResponse> | PodloopError) => ({
    runtimeConfig: (): Promise<cri.RuntimeConfigResponse> =>
      answer instanceof PodloopError
        ? Promise.reject(answer)
        : Promise.resolve(cri.RuntimeConfigResponse.fromPartial(answer)),
  });

  it.each([
    ['systemd', { linux: { cgroupDriver: cri.CgroupDriver.SYSTEMD } }],
    ['cgroupfs', { linux: { cgroupDriver: cri.CgroupDriver.CGROUPFS } }],
    ['not told', {}],
    ['not told', { linux: { cgroupDriver: 7 as cri.CgroupDriver } }],
    ['not told', new PodloopError('CRI_UNIMPLEMENTED', 'unknown method RuntimeConfig')],
  ])('is %s where it answers so', async (driver, answer) => {
    expect(await readCgroupDriver(answering(answer))).toBe(driver);
  });

  it('cannot be told while the runtime is away', async () => {
    const away = answering(new PodloopError('CRI_UNAVAILABLE', 'no connection'));
    await expect(readCgroupDriver(away)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
  });
});
