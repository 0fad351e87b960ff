import { describe, expect, it } from 'vitest';
import { FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { CgroupLayout } from './cgroup-layout.js';
import { findCgroupMounts, type Hierarchy } from './cgroup-mounts.js';
import { handDownTo, makeGroup } from './make-group.js';

it('touches only the group if its parent exists, and creates missing parents otherwise', async () => {
  await using folders = await FolderCgroups.make('v1');
  const asked: string[] = [];
  const io = {
    read: (path: string) => folders.read(path),
    write: folders.write.bind(folders),
    removeGroup: folders.removeGroup.bind(folders),
    children: folders.children.bind(folders),
    makeGroup: async (path: string) => {
      asked.push(path.slice(folders.root.length));
      await folders.makeGroup(path);
    },
  };
  const cpu = findCgroupMounts(folders.mountinfo).filter(({ controllers }) => controllers.includes('cpu'));
  const layout = new CgroupLayout(io, cpu);
  expect(await makeGroup(layout, '/root/pods/one')).toEqual({
    above: ['/cpu/root', '/cpu/root/pods'].map((path) => `${folders.root}${path}`),
    missing: [],
  });
  asked.length = 0;
  expect(await makeGroup(layout, '/root/pods/two')).toEqual({ above: [], missing: [] });
  expect(await makeGroup(layout, '/root/pods/two')).toEqual({ above: [], missing: [] });
  expect(asked).toEqual(['/cpu/root/pods/two', '/cpu/root/pods/two']);
  expect(await folders.groups('cpu')).toEqual(['/root', '/root/pods', '/root/pods/one', '/root/pods/two']);
});

describe('the controllers of version 2 on the path to a group', () => {
  const tree = (folders: FolderCgroups, controllers: readonly string[]): Hierarchy => ({
    ...{ version: 2, controllers, mountpoint: `${folders.root}/unified` },
  });

  it('are enabled in each group above it, and not in the group itself', async () => {
    await using folders = await FolderCgroups.make('v2');
    const layout = new CgroupLayout(folders, [tree(folders, ['cpu', 'memory'])]);
    expect((await makeGroup(layout, '/a/b/c')).missing).toEqual([]);
    const handed = ['/', '/a', '/a/b', '/a/b/c'].map((group) =>
      folders.show('unified', group, 'cgroup.subtree_control'),
    );
    expect(handed).toEqual(['cpu memory', 'cpu memory', 'cpu memory', '']);
  });

  it('stop at a group with processes: it is reported once for each, and the group is made all the same', async () => {
    await using folders = await FolderCgroups.make('v2');
    const hierarchy = tree(folders, ['cpu', 'memory']);
    await makeGroup(new CgroupLayout(folders, [hierarchy]), '/a');
    await folders.set('unified', '/a', 'cgroup.procs', '77');
    const busy = { group: '/a', reason: 'processes', code: 'EBUSY' };
    const missing = [
      { ...busy, controller: 'cpu' },
      { ...busy, controller: 'memory' },
    ];
    const layout = new CgroupLayout(folders, [hierarchy]);
    expect((await makeGroup(layout, '/a/b/c')).missing).toEqual(missing);
    expect(folders.show('unified', '/a/b/c', 'cgroup.controllers')).toBe('');
    expect(await handDownTo(folders, hierarchy, '/a/b/c')).toEqual(missing);
    folders.leave(77);
    expect(await handDownTo(folders, hierarchy, '/a/b/c')).toEqual([]);
    expect(folders.show('unified', '/a/b/c', 'cgroup.controllers')).toBe('cpu memory');
  });

  it('are enabled for an existing group without creating any', async () => {
    await using folders = await FolderCgroups.make('v2');
    expect(await handDownTo(folders, tree(folders, ['pids']), '/a/b')).toEqual([]);
    expect(await folders.groups('unified')).toEqual([]);
  });
});
