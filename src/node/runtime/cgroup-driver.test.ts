import { describe, expect, it } from 'vitest';
import { cri } from '../../watch/cri/index.js';
import { PodloopError } from '#base/errors/errors.js';
import { findDriverInError, findDriverInStatus, readCgroupDriver } from './cgroup-driver.js';

const UNIMPLEMENTED = new PodloopError('CRI_UNIMPLEMENTED', 'unknown method RuntimeConfig');

function answering(
  config: cri.DeepPartial<cri.RuntimeConfigResponse> | PodloopError,
  status: Readonly<Record<string, string>> | PodloopError = {},
) {
  const asked: string[] = [];
  return {
    asked,
    runtimeConfig: (): Promise<cri.RuntimeConfigResponse> => {
      asked.push('RuntimeConfig');
      return config instanceof PodloopError
        ? Promise.reject(config)
        : Promise.resolve(cri.RuntimeConfigResponse.fromPartial(config));
    },
    status: ({ verbose }: { verbose?: boolean | undefined } = {}): Promise<cri.StatusResponse> => {
      asked.push(verbose === true ? 'verbose Status' : 'Status');
      return status instanceof PodloopError
        ? Promise.reject(status)
        : Promise.resolve(cri.StatusResponse.fromPartial({ info: { ...status } }));
    },
  };
}

/** The configuration of a containerd 1.7, as far as it matters. */
function containerdConfig(
  runtimes: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
  defaultRuntimeName = 'runc',
): { config: string; golang: string } {
  const config = { containerd: { snapshotter: 'overlayfs', defaultRuntimeName, runtimes }, ...more };
  return { config: JSON.stringify(config), golang: '"go1.24"' };
}

const runc = (options?: unknown): unknown => ({ runtimeType: 'io.containerd.runc.v2', options });
const SYSTEMD = containerdConfig({ runc: runc({ SystemdCgroup: true }) });

describe('the cgroup driver that a runtime reports', () => {
  it.each([
    ['systemd', { linux: { cgroupDriver: cri.CgroupDriver.SYSTEMD } }],
    ['cgroupfs', { linux: { cgroupDriver: cri.CgroupDriver.CGROUPFS } }],
  ] as const)('is %s by its RuntimeConfig, and nothing else is asked', async (driver, answer) => {
    const client = answering(answer, SYSTEMD);
    expect(await readCgroupDriver(client)).toEqual({ driver, source: 'RuntimeConfig' });
    expect(client.asked).toEqual(['RuntimeConfig']);
  });

  it.each([
    ['has no such call', UNIMPLEMENTED],
    ['says nothing of Linux in it', {}],
    ['has a value of tomorrow in it', { linux: { cgroupDriver: 7 as cri.CgroupDriver } }],
  ])('is that of its verbose Status where it %s', async (_, config) => {
    const client = answering(config, SYSTEMD);
    expect(await readCgroupDriver(client)).toEqual({ driver: 'systemd', source: 'Status' });
    expect(client.asked).toEqual(['RuntimeConfig', 'verbose Status']);
    expect(await readCgroupDriver(answering(config))).toBeUndefined();
  });

  it('is not known while the runtime does not answer one of the two', async () => {
    const away = new PodloopError('CRI_UNAVAILABLE', 'no connection');
    await expect(readCgroupDriver(answering(away))).rejects.toBe(away);
    await expect(readCgroupDriver(answering(UNIMPLEMENTED, away))).rejects.toBe(away);
  });
});

describe('the verbose Status of a runtime', () => {
  it.each([
    ['systemd', 'the default runtime has SystemdCgroup', SYSTEMD],
    [
      'systemd',
      'the option is written in another case',
      containerdConfig({ runc: runc({ systemdCgroup: true }) }),
    ],
    [
      'systemd',
      'the switch for all runtimes of old is on',
      containerdConfig({ runc: runc() }, { systemdCgroup: true }),
    ],
    ['cgroupfs', 'SystemdCgroup is off', containerdConfig({ runc: runc({ SystemdCgroup: false }) })],
    [
      'cgroupfs',
      'the default runtime has no options',
      containerdConfig({ runc: runc() }, { systemdCgroup: false }),
    ],
    ['cgroupfs', 'it has other options', containerdConfig({ runc: runc({ BinaryName: '/usr/bin/crun' }) })],
    [
      'systemd',
      'the default runtime is crun',
      containerdConfig(
        {
          runc: runc({ SystemdCgroup: false }),
          crun: runc({ BinaryName: '/usr/bin/crun', SystemdCgroup: true }),
        },
        {},
        'crun',
      ),
    ],
    [
      'cgroupfs',
      'only another runtime has SystemdCgroup',
      containerdConfig({ runc: runc({}), kata: { options: { SystemdCgroup: true } } }),
    ],
    ['systemd', 'it names its manager as CRI-O does', { config: '{"cgroup_manager":"systemd"}' }],
    ['cgroupfs', 'it names its driver', { config: '{"sandboxImage":"pause","cgroupDriver":"cgroupfs"}' }],
  ] as const)('says %s where %s', (driver, _, info) => {
    expect(findDriverInStatus(info)).toBe(driver);
  });

  it.each([
    ['there is no configuration in it', {}],
    ['the configuration is no JSON', { config: 'SystemdCgroup = true' }],
    ['the configuration is no object', { config: '["systemd"]' }],
    [
      'it has nothing but the image of sandboxes, as of a CRI-O',
      { config: '{"sandboxImage":"registry.k8s.io/pause:3.10"}' },
    ],
    ['the default runtime is missing', containerdConfig({ crun: runc({ SystemdCgroup: true }) })],
    [
      'the default runtime is no runc',
      containerdConfig({ kata: { runtimeType: 'io.containerd.kata.v2' } }, {}, 'kata'),
    ],
    ['the runtimes are no object', { config: '{"containerd":{"runtimes":7,"defaultRuntimeName":"runc"}}' }],
    ['it names a manager of tomorrow', { config: '{"cgroup_manager":"openrc"}' }],
  ])('says nothing where %s', (_, info) => {
    expect(findDriverInStatus(info)).toBeUndefined();
  });
});

describe('the error with which a runtime refuses a sandbox', () => {
  const runcError =
    'failed to create shim task: OCI runtime create failed: runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/podloop/1/kubepods/burstable/pod1/2" instead: unknown';

  it.each([
    ['systemd', 'runc', runcError],
    ['systemd', 'runc, with its quotes escaped', JSON.stringify(JSON.stringify(runcError))],
    [
      'systemd',
      'crun',
      'OCI runtime create failed: sd-bus call: Unit name /podloop/1/kubepods/pod1/2.scope is not valid.: Invalid argument',
    ],
    [
      'systemd',
      'crun as systemd 257 answers it',
      'failed to create shim task: OCI runtime create failed: sd-bus call: Invalid unit name or type.: Invalid argument: unknown',
    ],
    [
      'systemd',
      'CRI-O',
      'cri-o configured with systemd cgroup manager, but did not receive slice as parent: /kubepods/pod1',
    ],
    [
      'cgroupfs',
      'CRI-O',
      'cri-o configured with cgroupfs cgroup manager, but received systemd slice as parent: /kubepods.slice',
    ],
    ['systemd', 'Docker', 'cgroup-parent for systemd cgroup should be a valid slice named as "xxx.slice"'],
  ] as const)('shows %s for %s', (driver, _, message) => {
    expect(findDriverInError(message)).toBe(driver);
  });

  it.each([
    '',
    'failed to setup network for sandbox: plugin type="bridge" failed',
    'unable to apply cgroup configuration: mkdir /sys/fs/cgroup/cpu/podloop: read-only file system',
    'failed to create containerd task: cgroups: cannot find cgroup mount destination',
    'image of slice:prefix:name is not there',
    'Unit name podloop.scope is not valid.',
    'sd-bus call: Connection timed out',
  ])('shows nothing in "%s"', (message) => {
    expect(findDriverInError(message)).toBeUndefined();
  });
});
