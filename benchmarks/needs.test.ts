import { expect, it } from 'vitest';
import { findMissingNeed, readVersions } from './needs.js';

it('names the first need that is not there, and what to do', () => {
  expect(findMissingNeed([], {})).toBeUndefined();
  expect(findMissingNeed(['kubelet'], {})).toContain('set it to the path');
  expect(findMissingNeed(['kubelet'], { KUBELET: '/no/such/file' })).toContain('KUBELET=/no/such/file');
  expect(findMissingNeed(['kubelet'], { KUBELET: process.execPath })).toBeUndefined();
  expect(findMissingNeed(['control plane'], {})).toContain('KUBEBUILDER_ASSETS names no folder');
  const folder = { KUBEBUILDER_ASSETS: '/no/such/folder', PATH: '' };
  expect(findMissingNeed(['control plane'], folder)).toContain('lacks etcd, apiServer');
});

it('reads the versions of what is measured beside, where they can be had', () => {
  expect(readVersions(['root', 'kubelet'], { KUBELET: process.execPath })).toEqual({
    kubelet: process.version,
  });
  expect(readVersions(['kubelet'], {})).toEqual({});
});
