import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { findMissingNeed, readVersions } from './needs.js';
import { settingsOf } from './run-plan.js';
import { SCENARIOS } from './scenarios.js';

it('names the first need that is not there, and what to do', () => {
  expect(findMissingNeed([], {})).toBeUndefined();
  expect(findMissingNeed(['kubelet'], {})).toContain('set it to the path');
  expect(findMissingNeed(['kubelet'], { KUBELET: '/no/such/file' })).toContain('KUBELET=/no/such/file');
  expect(findMissingNeed(['kubelet'], { KUBELET: '/etc' })).toBe('KUBELET=/etc is no file');
  expect(findMissingNeed(['kubelet'], { KUBELET: process.execPath })).toBeUndefined();
  expect(findMissingNeed(['control plane'], {})).toContain('KUBEBUILDER_ASSETS names no folder');
  const folder = { KUBEBUILDER_ASSETS: '/no/such/folder', PATH: '' };
  expect(findMissingNeed(['control plane'], folder)).toContain('lacks etcd, apiServer');
});

it('reads the versions of what is measured beside, where they can be had', () => {
  expect(readVersions(['root', 'kubelet'], [], { KUBELET: process.execPath })).toEqual({
    kubelet: process.version,
  });
  expect(readVersions(['kubelet'], [], {})).toEqual({});
});

it('takes for a kubelet, or an API server, only what tells its version', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-needs-'));
  try {
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      await writeFile(path.join(folder, name), '#!/bin/sh\necho hello\n', { mode: 0o755 });
    const [KUBELET, environment] = [path.join(folder, 'etcd'), { KUBEBUILDER_ASSETS: folder, PATH: '' }];
    expect(findMissingNeed(['kubelet'], { KUBELET })).toContain('does not answer --version');
    expect(findMissingNeed(['control plane'], environment)).toContain('kube-apiserver does not answer');
    expect(readVersions(['control plane'], [], environment)).toEqual({});
    const told = '#!/bin/sh\necho Kubernetes v1.37.2\n';
    await writeFile(path.join(folder, 'kube-apiserver'), told);
    expect(readVersions(['control plane'], [], environment)).toEqual({ 'kube-apiserver': 'v1.37.2' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('knows of each scenario on containerd which releases it uses', () => {
  const onContainerd = SCENARIOS.filter(({ needs }) => needs.includes('containerd'));
  expect(onContainerd.length).toBeGreaterThan(0);
  for (const scenario of onContainerd) {
    const settings = settingsOf(scenario, {}, true);
    expect(scenario.releases?.((name) => settings[name]!)).not.toEqual([]);
    expect(scenario.releases).toBeDefined();
  }
});
