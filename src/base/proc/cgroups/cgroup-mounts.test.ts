import { expect, it } from 'vitest';
import { findCgroupMounts } from './cgroup-mounts.js';

it('finds the trees with usable controllers, that of memory first', () => {
  const mountinfo = [
    '25 30 0:23 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755',
    '26 25 0:24 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate',
    '27 25 0:25 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd',
    '28 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct',
    '29 25 0:27 / /sys/fs/cgroup/net_cls rw - cgroup cgroup rw,net_cls',
    '30 25 0:28 / /sys/fs/cgroup/with\\040blank rw - cgroup cgroup rw,memory',
    '31 25 0:28 / /somewhere/else rw - cgroup cgroup rw,memory',
    '',
  ].join('\n');
  expect(findCgroupMounts(mountinfo)).toEqual([
    { version: 1, mountpoint: '/sys/fs/cgroup/with blank', controllers: ['memory'] },
    { version: 1, mountpoint: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
    { version: 2, mountpoint: '/sys/fs/cgroup/unified', controllers: [] },
  ]);
});

it('finds nothing if nothing is mounted', () => {
  expect(findCgroupMounts('22 1 0:5 / /proc rw - proc proc rw\n')).toEqual([]);
});
