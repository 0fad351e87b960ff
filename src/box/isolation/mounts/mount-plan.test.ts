import { describe, expect, it } from 'vitest';
import { planMounts, type MountRequest } from './mount-plan.js';
import { type Volume } from './container-volumes.js';

const REQUEST: MountRequest = {
  base: '/var/lib/r/stage',
  fresh: false,
  toolsDir: '/var/lib/r/tools/x',
  root: { kind: 'overlay', lowerDirs: ['/l1', '/l2'], upperDir: '/u', workDir: '/w' },
  privileged: false,
  cgroups: undefined,
  devices: ['/dev/null', '/dev/tty'],
  shmDir: '/dev/shm/pod',
  volumes: [],
  files: [{ source: '/s/hosts', target: '/etc/hosts' }],
  readonlyRoot: false,
  masked: [],
  readonly: [],
};

function volume(target: string, more: Partial<Volume> = {}): Volume {
  const plain = {
    folder: true,
    readonly: false,
    propagation: 'rprivate',
    restrictions: [],
    plainDevice: false,
    readonlyBelow: false,
  } as const;
  return { source: `/host${target}`, target, ...plain, ...more };
}

function lines(plan: ReturnType<typeof planMounts>): string[][] {
  return plan.after.map(({ entries }) =>
    entries.map(({ source, target, options }) => `${source} ${target} ${options.join()}`),
  );
}

describe('planMounts', () => {
  it('mounts the root without devices, and the kernel’s file systems beside it', () => {
    const { before } = planMounts(REQUEST);
    const root = before.find(({ target }) => target.endsWith('/stage/root'))!;
    expect(root).toMatchObject({ type: 'overlay' });
    expect(root.options).toEqual(['lowerdir=/l1:/l2', 'upperdir=/u', 'workdir=/w', 'nodev']);
    const types = before.map(({ type, target }) => `${type} ${target.replace('/var/lib/r/stage/api', '')}`);
    for (const each of [
      'proc /proc',
      'sysfs /sys',
      'devpts /dev/pts',
      'mqueue /dev/mqueue',
      'none /dev/shm',
    ]) {
      expect(types).toContain(each);
    }
  });

  it('shares nothing with the host but what is asked for', () => {
    const { before } = planMounts({ ...REQUEST, root: { kind: 'folder', path: '/files' } });
    for (const name of ['tools', 'root']) {
      expect(before.find(({ target }) => target.endsWith(`/stage/${name}`))?.options).toContain('private');
    }
  });

  it('protects /sys unless the container is privileged', () => {
    const protects = (privileged: boolean) =>
      planMounts({ ...REQUEST, privileged }).before.some(
        ({ target, options }) => target.endsWith('/api/sys') && options.includes('ro'),
      );
    expect([protects(false), protects(true)]).toEqual([true, false]);
  });

  it('shows a container its own cgroup, read-only, and a privileged one those of the host', () => {
    const at = (more: Partial<MountRequest>) =>
      planMounts({ ...REQUEST, ...more }).after[0]!.entries.filter(({ target }) => target.includes('cgroup'));
    expect(at({})).toEqual([]);
    const target = '../api/sys/fs/cgroup';
    expect(at({ cgroups: { kind: 'own' } })).toEqual([
      { source: 'podloop', target, type: 'cgroup2', options: ['nosuid', 'noexec', 'nodev'] },
      { source: target, target, type: 'none', options: ['bind', 'ro', 'nosuid', 'noexec', 'nodev'] },
    ]);
    const host = { kind: 'host', mountpoint: '/sys/fs/cgroup' } as const;
    expect(at({ cgroups: host, privileged: true })).toEqual([
      {
        source: '../../../../../sys/fs/cgroup',
        ...{ target, type: 'none', options: ['bind', 'nosuid', 'noexec', 'nodev'] },
      },
    ]);
  });

  it('hides and protects paths where nobody can have put a link', () => {
    const { before } = planMounts({
      ...REQUEST,
      masked: [
        { path: '/proc/keys', folder: false },
        { path: '/proc/acpi', folder: true },
      ],
      readonly: [{ path: '/proc/sys', folder: true }],
    });
    const at = (path: string) => before.find(({ target }) => target === `/var/lib/r/stage/api${path}`);
    expect(at('/proc/keys')).toMatchObject({
      source: '/dev/null',
      options: ['bind', 'ro', 'nosuid', 'noexec'],
    });
    expect(at('/proc/acpi')).toMatchObject({ type: 'tmpfs' });
    expect(at('/proc/sys')?.options.slice(0, 2)).toEqual(['bind', 'ro']);
  });

  it('names the host’s paths from the working directory on, and mounts /proc last', () => {
    const plan = planMounts({
      ...REQUEST,
      volumes: [volume('/data', { readonly: true, restrictions: ['nosuid'] })],
    });
    expect(plan.up).toBe('../../../../..');
    expect(lines(plan)).toEqual([
      [
        'proc /proc bind,X-mount.mkdir',
        '../api/sys /sys rbind,X-mount.mkdir',
        '../api/dev/null ../api/dev/null bind',
        '../api/dev/tty ../api/dev/tty bind',
        'podloop ../api/dev remount,bind,nosuid,noexec,nodev',
        '../api/dev /dev rbind,X-mount.mkdir',
        '../../../../../s/hosts /etc/hosts bind,rprivate',
        '../../../../../host/data /data rbind,rprivate,nosuid,ro,nodev,X-mount.mkdir',
        '../api/proc /proc rbind,X-mount.mkdir',
      ],
    ]);
    expect(plan.after[0]!.points).toEqual([
      { path: '/etc/hosts', folder: false },
      { path: '/data', folder: true },
    ]);
  });

  it('leaves out the pod’s files where the container mounts something else', () => {
    const over = (target: string) => lines(planMounts({ ...REQUEST, volumes: [volume(target)] })).flat();
    expect(over('/etc/hosts').join()).not.toContain('/s/hosts');
    expect(over('/etc').join()).not.toContain('/s/hosts');
    expect(over('/etc/hosts2').join()).toContain('/s/hosts');
  });

  it('makes what is mounted on when what it lies in is mounted', () => {
    const plan = planMounts({
      ...REQUEST,
      files: [],
      volumes: [volume('/v'), volume('/v/file', { folder: false })],
    });
    expect(plan.after.map(({ points }) => points)).toEqual([
      [{ path: '/v', folder: true }],
      [{ path: '/v/file', folder: false }],
    ]);
    expect(lines(plan)[1]).toEqual([
      '../../../../../host/v/file /v/file rbind,rprivate,nodev',
      '../api/proc /proc rbind,X-mount.mkdir',
    ]);
  });

  it('makes what is mounted in /dev before /dev is bound', () => {
    const plan = planMounts({
      ...REQUEST,
      files: [],
      volumes: [volume('/dev/termination-log', { folder: false })],
    });
    expect(plan.devicePoints).toEqual([{ path: '/var/lib/r/stage/api/dev/termination-log', folder: false }]);
    expect(plan.after).toHaveLength(1);
    expect(plan.after[0]!.points).toEqual([]);
  });

  it.each([
    ['/dev', '/dev/termination-log', false],
    ['/dev/shm', '/dev/shm/words', false],
    ['/dev/part', '/dev/part/below', true],
    ['/dev/part', '/dev/part/of/words', false],
  ])('makes the place of a mount on a volume at %s once that is mounted: %s', (above, path, folder) => {
    const plan = planMounts({
      ...REQUEST,
      files: [],
      volumes: [volume(above), volume(path, { folder })],
    });
    expect(plan.devicePoints).toEqual([{ path: `/var/lib/r/stage/api${above}`, folder: true }]);
    expect(plan.after.map(({ points }) => points)).toEqual([[], [{ path, folder }]]);
    expect(lines(plan)[0]!.at(-1)).toContain(` ${above} `);
    expect(lines(plan)[1]![0]).toContain(` ${path} `);
  });

  it('makes what is beside a volume in /dev before /dev is bound', () => {
    const plan = planMounts({
      ...REQUEST,
      files: [],
      volumes: [volume('/dev/a'), volume('/dev/ab', { folder: false })],
    });
    expect(plan.devicePoints.map(({ path }) => path)).toEqual(
      ['a', 'ab'].map((name) => `/var/lib/r/stage/api/dev/${name}`),
    );
    expect(plan.after).toHaveLength(1);
  });

  it('mounts a file system of its own first where mounts are handed on to the host', () => {
    const { before, up } = planMounts({
      ...REQUEST,
      base: '/proc/driver',
      fresh: true,
      root: { kind: 'host' },
    });
    expect(before[0]).toMatchObject({ target: '/proc/driver', type: 'tmpfs' });
    expect(before.find(({ target }) => target === '/proc/driver/root')?.options).toContain('rslave');
    expect(up).toBe('../../..');
  });

  it('lets nobody but privileged containers open devices, on whatever mount they are', () => {
    const asked = {
      ...REQUEST,
      root: { kind: 'host' },
      hostRestrictions: ['nosuid'],
      volumes: [
        volume('/v'),
        volume('/w', { readonly: true }),
        volume('/x', { folder: false, plainDevice: true }),
        volume('/dev/y', { restrictions: ['noexec'] }),
      ],
    } as const satisfies MountRequest;
    const plan = planMounts(asked);
    const ofHost = (line: string) => / \/(v|w|x|dev\/y)/.test(line);
    expect(lines(plan).flat().filter(ofHost)).toEqual([
      '../../../../../host/v /v rbind,rprivate,nodev,X-mount.mkdir',
      '../../../../../host/w /w rbind,rprivate,ro,nodev,X-mount.mkdir',
      '../../../../../host/x /x rbind,rprivate',
      '../../../../../host/dev/y /dev/y rbind,rprivate,noexec,nodev,X-mount.mkdir',
    ]);
    const inRoot = plan.before.filter(({ target }) => target.startsWith('/var/lib/r/stage/root'));
    expect(inRoot.map(({ target, options }) => `${target} ${options.join()}`)).toEqual([
      '/var/lib/r/stage/root rbind,rslave,nosuid,nodev',
    ]);
    const free = planMounts({ ...asked, privileged: true });
    const options = [...free.before, ...free.after.flatMap(({ entries }) => entries)]
      .filter(({ target }) => !/api|tools/.test(target) && target !== '/sys')
      .flatMap((entry) => entry.options);
    expect(options).not.toContain('nodev');
  });
});
