import { expect, it } from 'vitest';
import { FolderCgroups } from '../../testing/folder-cgroups.js';
import { CgroupLayout } from './cgroup-layout.js';
import { findCgroupMounts } from './cgroup-mounts.js';
import { makeGroup } from './make-group.js';

it('asks for nothing but the group where all above it is there, and makes the way to it where it is not', async () => {
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
  expect(await makeGroup(layout, '/root/pods/one')).toEqual(
    ['/cpu/root', '/cpu/root/pods'].map((path) => `${folders.root}${path}`),
  );
  asked.length = 0;
  expect(await makeGroup(layout, '/root/pods/two')).toEqual([]);
  expect(await makeGroup(layout, '/root/pods/two')).toEqual([]);
  expect(asked).toEqual(['/cpu/root/pods/two', '/cpu/root/pods/two']);
  expect(await folders.groups('cpu')).toEqual(['/root', '/root/pods', '/root/pods/one', '/root/pods/two']);
});
