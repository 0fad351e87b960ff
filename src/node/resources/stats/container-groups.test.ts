import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { ContainerGroups, readableCgroups } from './container-groups.js';

const [ONE, TWO, THREE] = ['1', '2', '3'].map((digit) => digit.repeat(64));

/** Groups by path below the tree, and how often one was listed. */
function tree(paths: string[]): { readonly io: CgroupIo; readonly paths: string[]; looks: number } {
  const state = { paths, looks: 0 };
  const children = (path: string): Promise<string[]> => {
    state.looks++;
    const below = path.slice('/cg'.length);
    const names = state.paths
      .filter((each) => each.startsWith(`${below}/`))
      .map((each) => each.slice(below.length + 1).split('/')[0]!);
    return Promise.resolve([...new Set(names)]);
  };
  return Object.assign(state, { io: { children, read: () => undefined } as unknown as CgroupIo });
}

function groupsOf(io: CgroupIo, clock = new FakeClock()): ContainerGroups {
  const layout = new CgroupLayout(io, [{ version: 2, mountpoint: '/cg', controllers: ['memory'] }]);
  return new ContainerGroups({ layout, clock });
}

it('finds groups by the ids in their names, however the runtime calls them', async () => {
  const { io } = tree([
    `/kubepods/pod1/${ONE}`,
    `/kubepods.slice/pod2.slice/cri-containerd-${TWO}.scope`,
    '/system.slice/cron',
  ]);
  const found = await groupsOf(io).find([ONE!, TWO!, THREE!]);
  expect(Object.fromEntries(found)).toEqual({
    [ONE!]: `/kubepods/pod1/${ONE}`,
    [TWO!]: `/kubepods.slice/pod2.slice/cri-containerd-${TWO}.scope`,
  });
});

it('takes no other folder that has an id in its name for the container’s group', async () => {
  const others = [
    `crio-conmon-${ONE}.scope`,
    `run-containerd-io.containerd.runtime.v2.task-k8s.io-${ONE}-rootfs.mount`,
    `${ONE}.mount`,
    `${ONE}.scope.d`,
    `shim-${ONE}.scope`,
    `${ONE}${TWO}`,
  ];
  const pod = '/kubepods.slice/kubepods-pod1.slice';
  const { io } = tree(others.map((name) => `${pod}/${name}`));
  expect([...(await groupsOf(io).find([ONE!, TWO!]))]).toEqual([]);
  for (const name of [`crio-${ONE}.scope`, `docker-${ONE}.scope`, `libpod-${ONE}.scope`, `crio-${ONE}`]) {
    const world = tree([...others, name].map((each) => `${pod}/${each}`));
    expect((await groupsOf(world.io).find([ONE!])).get(ONE!)).toBe(`${pod}/${name}`);
  }
});

it('goes through the tree only for somebody new, and now and then for who was not found', async () => {
  const world = tree([`/pod1/${ONE}`]);
  const clock = new FakeClock();
  const groups = groupsOf(world.io, clock);
  await groups.find([ONE!, TWO!]);
  const { looks } = world;
  await groups.find([ONE!, TWO!]);
  expect(world.looks).toBe(looks);
  world.paths.push(`/pod2/${TWO}`);
  await clock.advance(10_000);
  expect((await groups.find([ONE!, TWO!])).get(TWO!)).toBe(`/pod2/${TWO}`);
  world.paths.push(`/pod3/${THREE}`);
  expect((await groups.find([ONE!, THREE!])).get(THREE!)).toBe(`/pod3/${THREE}`);
});

it('reads of version 2 what version 1 beside it does not have', () => {
  const line = (path: string, type: string, options: string): string =>
    `1 2 0:1 / ${path} rw - ${type} cgroup rw,${options}`;
  const mountinfo = [line('/cg/memory', 'cgroup', 'memory'), line('/cg/unified', 'cgroup2', '')].join('\n');
  const layout = readableCgroups(mountinfo, { read: () => 'memory pids io\n' } as unknown as CgroupIo);
  expect(layout.hierarchies.map(({ version, controllers }) => [version, controllers])).toEqual([
    [1, ['memory']],
    [2, ['pids', 'io']],
  ]);
});
