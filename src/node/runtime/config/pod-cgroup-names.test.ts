import { describe, expect, it } from 'vitest';
import { type PodSpec } from '#kube/pod/pod.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { findPodOfGroup, podGroup, toCgroupNames, toCgroupPath } from './pod-cgroup-names.js';

const withResources = (
  limits: Record<string, string>,
  requests: Record<string, string>,
): Partial<PodSpec> => ({
  containers: [aSpecContainer({ resources: { limits, requests } })],
});
const ALL = { cpu: '1', memory: '64Mi' };
const CLASSES = {
  guaranteed: withResources(ALL, ALL),
  burstable: withResources({}, { cpu: '100m' }),
  besteffort: {},
};

describe('the cgroup of a pod', () => {
  it.each([
    ['guaranteed', 'a1b2', '', 'cgroupfs', '/kubepods/poda1b2'],
    ['burstable', 'a1b2', '/', 'cgroupfs', '/kubepods/burstable/poda1b2'],
    ['besteffort', 'a1-b2', '', 'cgroupfs', '/kubepods/besteffort/poda1-b2'],
    ['besteffort', 'a1', '/podloop/ab12', 'cgroupfs', '/podloop/ab12/kubepods/besteffort/poda1'],
    ['guaranteed', 'a1', '', 'systemd', '/kubepods.slice/kubepods-poda1.slice'],
    [
      'burstable',
      'a1-b2-c3',
      '',
      'systemd',
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda1_b2_c3.slice',
    ],
    [
      'besteffort',
      'a1',
      'my-pods/x/',
      'systemd',
      '/my_pods.slice/my_pods-x.slice/my_pods-x-kubepods.slice/my_pods-x-kubepods-besteffort.slice/my_pods-x-kubepods-besteffort-poda1.slice',
    ],
  ] as const)('of class %s, uid %s, below "%s", by %s, is %s', (qos, uid, root, driver, path) => {
    const pod = aSpecPod(CLASSES[qos], { uid });
    expect(toCgroupPath(podGroup(pod, toCgroupNames(root)), driver)).toBe(path);
  });

  it.each([
    ['cgroupfs', 'poda1-b2', 'a1-b2'],
    ['cgroupfs', 'burstable', undefined],
    ['cgroupfs', 'pod', undefined],
    ['systemd', 'kubepods-burstable-poda1_b2.slice', 'a1_b2'],
    ['systemd', 'kubepods-burstable.slice', undefined],
    ['systemd', 'kubepods-poda1', undefined],
  ] as const)('tells whose it is, by %s: %s', (driver, name, uid) => {
    expect(findPodOfGroup(name, driver)).toBe(uid);
  });
});
