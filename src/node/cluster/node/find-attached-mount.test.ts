import { expect, it } from 'vitest';
import { findAttachedMount } from './find-attached-mount.js';

const find = (mountPoint: string): boolean =>
  findAttachedMount([{ mountPoint, shared: true, slave: false, restrictions: [], fsType: 'ext4' }]) !==
  undefined;
const POD = '/var/lib/kubelet/pods/6f0c8a0e-58a5-4d07-9b1d-c6d4d3fb9d6a/volumes';

it.each([
  `${POD}/kubernetes.io~csi/pvc-1/mount`,
  `${POD}/kubernetes.io~iscsi/disk`,
  `${POD}/example.com~flex/disk`,
  '/srv/k/pods/u1/volumes/kubernetes.io~csi/pvc-1/mount',
  '/var/lib/kubelet/plugins/kubernetes.io/csi/driver.example/0a1b/globalmount',
])('a volume that is attached is mounted: %s', (mountPoint) => {
  expect(find(mountPoint)).toBe(true);
});

it.each([
  ...['/', '/var/lib/kubelet', '/var/lib/kubelet/plugins/driver.example', '/var/lib/kubelet/pods'],
  ...[`${POD}/kubernetes.io~empty-dir/cache`, `${POD}/kubernetes.io~projected/kube-api-access`],
  ...[
    `${POD}/kubernetes.io~secret/tls`,
    `${POD}/kubernetes.io~configmap/a`,
    `${POD}/kubernetes.io~local-volume/a`,
  ],
  ...['/home/pods/volumes/disk'],
])('what lies on the node itself is no attached volume: %s', (mountPoint) => {
  expect(find(mountPoint)).toBe(false);
});
