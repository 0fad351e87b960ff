/**
 * Computes what is mounted for a container, where and in which order. Pure.
 *
 * ```
 * before pivot_root, host's view            after it, container's view
 * BASE/tools     the kit, read-only         the kit is the working directory
 * BASE/root      the container's root   ─►  /
 * BASE/api/proc, sys, dev              ─►  /proc, /sys, /dev
 *                                           volumes, by the host's paths relative to the working directory
 * ```
 *
 * Why two halves: links in the container's files may lead anywhere, so its paths are only used where they mean what
 * the container would find there. What must be certain, masked and read-only paths of /proc and /sys, is made in the
 * first half, in a file system of our own.
 *
 * @module
 */
import { type ContainerRoot } from '../../images/container-roots.js';
import { type FstabEntry } from './fstab.js';
import { isBelow } from '#base/proc/mountinfo.js';
import { planSubmountRules, type SubmountRule } from './submount-rules.js';
import { type Volume } from './container-volumes.js';

/** A file of the sandbox, bound into a container. */
export interface BoundFile {
  readonly source: string;
  readonly target: string;
}

/** A path of /proc or /sys that is to be hidden or protected. */
export interface ApiPath {
  readonly path: string;
  readonly folder: boolean;
}

/** What {@link planMounts} takes. */
export interface MountRequest {
  /** An absolute folder without links; it has `tools`, `root` and `api` unless it is `fresh`. */
  readonly base: string;
  /** Whether a file system of our own is to be mounted on it first. */
  readonly fresh: boolean;
  readonly toolsDir: string;
  readonly root: ContainerRoot;
  /** Options of the host's `/` that a root that is the host's must keep. */
  readonly hostRestrictions?: readonly string[] | undefined;
  /** May change /sys, and open any device that it finds or makes. */
  readonly privileged: boolean;
  /** What the container has at /sys/fs/cgroup: its own group, the host's tree, or nothing. */
  readonly cgroups: CgroupView;
  /** The nodes that the container has in its /dev. */
  readonly devices: readonly string[];
  /** Folder of the host that is the pod's /dev/shm; undefined for one of the container's own. */
  readonly shmDir: string | undefined;
  readonly volumes: readonly Volume[];
  readonly files: readonly BoundFile[];
  /** Then the container writes to no file of its pod either: others read them, too. */
  readonly readonlyRoot: boolean;
  readonly masked: readonly ApiPath[];
  readonly readonly: readonly ApiPath[];
}

/** The one tree of cgroups of version 2 as a container sees it; undefined on a machine with version 1. */
export type CgroupView =
  { readonly kind: 'own' } | { readonly kind: 'host'; readonly mountpoint: string } | undefined;

/** Something that must be there before a batch of mounts; a path without links. */
export interface MountPoint {
  readonly path: string;
  readonly folder: boolean;
}

/** Mounts of the second half that one call makes, and what must be there before. */
export interface MountBatch {
  readonly points: readonly MountPoint[];
  readonly entries: readonly FstabEntry[];
}

/** What {@link planMounts} finds. */
export interface MountPlan {
  readonly before: readonly FstabEntry[];
  /** To be made in `/dev` before it is bound, by the host's path. */
  readonly devicePoints: readonly MountPoint[];
  readonly after: readonly MountBatch[];
  /** What holds for mounts that came with others. */
  readonly submountRules: readonly SubmountRule[];
  /** From the working directory to the host's root. */
  readonly up: string;
}

/** File systems of our own in every container, whatever its image has there. */
export const API_FOLDERS: readonly string[] = ['/proc', '/sys', '/dev'];

/** Nothing is mounted already under names like this one, which `mount --all` would pass over. */
const OURS = 'podloop';
const PLAIN = ['nosuid', 'noexec', 'nodev'];
const MKDIR = 'X-mount.mkdir';
/** Of the /dev itself: a node that is made in it, or anywhere else, opens nothing; see planDevices. */
const DEV = ['nosuid', 'noexec'];

/** See the module's description. */
export function planMounts(request: MountRequest): MountPlan {
  const up = '../'.repeat(request.base.split('/').filter(Boolean).length + 1).slice(0, -1);
  const inDev = request.volumes.filter(({ target }) => isInOurDev(target, request.volumes));
  return {
    before: [...planBase(request), ...planApi(request)],
    devicePoints: inDev.map(({ target, folder }) => ({ path: `${request.base}/api${target}`, folder })),
    after: planAfter(request, up),
    submountRules: planSubmountRules({ ...request, own: planOwn(request) }),
    up,
  };
}

/** In our own /dev, where the place of a mount is made before; on a volume that hides a part of it no such place is seen. */
export function isInOurDev(path: string, volumes: readonly Volume[]): boolean {
  const isHidden = volumes.some(
    ({ target }) => target !== path && isBelow(target, '/dev') && isBelow(path, target),
  );
  return isBelow(path, '/dev') && !isHidden;
}

/** What the runtime has mounted itself, each with the options that it should have. */
function planOwn(request: MountRequest): SubmountRule[] {
  const own = (path: string, below: boolean): SubmountRule => ({ path, below, wanted: [] });
  return [
    ...findFiles(request).map(({ target }) => own(target, false)),
    ...API_FOLDERS.map((path) => own(path, true)),
  ];
}

/** Files of the sandbox where the container mounts nothing else. */
function findFiles({ files, volumes }: MountRequest): BoundFile[] {
  return files.filter(({ target }) => !volumes.some((volume) => isBelow(target, volume.target)));
}

function planBase(request: MountRequest): FstabEntry[] {
  const { base, fresh, toolsDir } = request;
  const mkdir = fresh ? [MKDIR] : [];
  const root = rootEntry(request);
  return [
    ...(fresh
      ? [{ source: OURS, target: base, type: 'tmpfs', options: ['nosuid', 'nodev', 'mode=0700'] }]
      : []),
    // Private, as what is mounted in it later would appear on the host's own where mounts are shared with it.
    {
      source: toolsDir,
      target: `${base}/tools`,
      type: 'none',
      options: ['bind', 'ro', 'nodev', 'private', ...mkdir],
    },
    { ...root, target: `${base}/root`, options: [...root.options, ...mkdir] },
    { source: OURS, target: `${base}/api`, type: 'tmpfs', options: ['nodev', 'mode=0755', ...mkdir] },
  ];
}

function rootEntry({ root, privileged, hostRestrictions }: MountRequest): Omit<FstabEntry, 'target'> {
  switch (root.kind) {
    case 'host': {
      const noDevices = privileged ? [] : [...new Set([...(hostRestrictions ?? []), 'nodev'])];
      // What is mounted in it must not appear on the host, whose mounts these are.
      return { source: '/', type: 'none', options: ['rbind', 'rslave', ...noDevices] };
    }
    case 'folder':
      return { source: root.path, type: 'none', options: ['bind', 'nodev', 'private'] };
    case 'overlay': {
      const { lowerDirs, upperDir, workDir } = root;
      const options = [
        `lowerdir=${lowerDirs.join(':')}`,
        `upperdir=${upperDir}`,
        `workdir=${workDir}`,
        'nodev',
      ];
      return { source: OURS, type: 'overlay', options };
    }
  }
}

/**
 * Takes devices from /dev but for its nodes, which are each bound on itself before. They are the container's own: what
 * it does to their modes is not seen outside. Done in our own file system, as a volume may show that, too.
 */
function planDevices({ devices, privileged }: MountRequest): FstabEntry[] {
  if (privileged) return [];
  return [
    ...[...new Set(devices)].map((path) => bind(`../api${path}`, `../api${path}`, [])),
    { source: OURS, target: '../api/dev', type: 'none', options: ['remount', 'bind', ...DEV, 'nodev'] },
  ];
}

/** In our own /sys. The type has no options: those of the tree are the host's. */
function planCgroups({ cgroups, privileged }: MountRequest, up: string): FstabEntry[] {
  const target = '../api/sys/fs/cgroup';
  switch (cgroups?.kind) {
    case 'own':
      return [
        { source: OURS, target, type: 'cgroup2', options: PLAIN },
        ...(privileged ? [] : [bind(target, target, ['ro', ...PLAIN])]),
      ];
    case 'host':
      return [bind(`${up}${cgroups.mountpoint}`, target, PLAIN)];
    default:
      return [];
  }
}

function planApi({ base, privileged, shmDir, masked, readonly }: MountRequest): FstabEntry[] {
  const at = (path: string) => `${base}/api${path}`;
  const self = (path: string): FstabEntry => bind(at(path), at(path), ['ro', ...PLAIN]);
  const mount = (path: string, type: string, options: readonly string[]): FstabEntry => {
    return { source: OURS, target: at(path), type, options: [...options, MKDIR] };
  };
  return [
    mount('/proc', 'proc', PLAIN),
    mount('/sys', 'sysfs', PLAIN),
    // Not by an option of the mount itself: what is mounted read-only first is so for the whole pod.
    ...(privileged ? [] : [self('/sys')]),
    mount('/dev', 'tmpfs', [...DEV, 'mode=0755', 'size=65536k']),
    mount('/dev/pts', 'devpts', ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5']),
    mount('/dev/mqueue', 'mqueue', PLAIN),
    shmDir === undefined
      ? mount('/dev/shm', 'tmpfs', [...PLAIN, 'mode=1777', 'size=65536k'])
      : bind(shmDir, at('/dev/shm'), [...PLAIN, MKDIR]),
    ...readonly.map(({ path }) => self(path)),
    ...masked.map(({ path, folder }) =>
      folder
        ? { source: OURS, target: at(path), type: 'tmpfs', options: ['ro', ...PLAIN] }
        : // Read-only: it is the host's node, whose mode and owner are not the container's to change.
          bind('/dev/null', at(path), ['ro', ...DEV]),
    ),
  ];
}

function planAfter(request: MountRequest, up: string): MountBatch[] {
  const { volumes } = request;
  const api = (name: string): FstabEntry => ({
    source: `../api/${name}`,
    target: `/${name}`,
    type: 'none',
    options: ['rbind', MKDIR],
  });
  // `mount --all` passes over what /proc/self/mountinfo says is mounted, and must not find what the host has mounted
  // under the same name. The kit has one that says nothing; it stays hidden below the container's own /proc.
  const nothing: FstabEntry = { source: 'proc', target: '/proc', type: 'none', options: ['bind', MKDIR] };
  const dev = api('dev');
  const first = [nothing, ...planCgroups(request, up), api('sys'), ...planDevices(request), dev];
  const batches = [{ points: [] as MountPoint[], entries: first }];
  const add = (point: MountPoint, entries: readonly FstabEntry[]) => {
    const inMount = batches
      .at(-1)!
      .entries.some((entry) => entry !== dev && isBelow(point.path, entry.target));
    // Its parent must exist by then, and must have been checked for links.
    if (inMount) batches.push({ points: [], entries: [] });
    const batch = batches.at(-1)!;
    if (!isInOurDev(point.path, volumes)) batch.points.push(point);
    batch.entries.push(...entries);
  };
  for (const { source, target } of findFiles(request)) {
    add({ path: target, folder: false }, [
      bind(`${up}${source}`, target, ['rprivate', ...(request.readonlyRoot ? ['ro', ...PLAIN] : [])]),
    ]);
  }
  for (const volume of volumes)
    add({ path: volume.target, folder: volume.folder }, [toEntry(volume, up, request.privileged)]);
  batches.at(-1)!.entries.push(api('proc'));
  return batches;
}

function toEntry(volume: Volume, up: string, privileged: boolean): FstabEntry {
  const { source, target, folder, readonly, propagation, restrictions, plainDevice } = volume;
  const wanted = [...(readonly ? ['ro'] : []), ...(privileged || plainDevice ? [] : ['nodev'])];
  const protect = wanted.length > 0 ? new Set([...restrictions, ...wanted]) : [];
  const mkdir = folder ? [MKDIR] : [];
  return { ...bind(`${up}${source}`, target, []), options: ['rbind', propagation, ...protect, ...mkdir] };
}

function bind(source: string, target: string, options: readonly string[]): FstabEntry {
  return { source, target, type: 'none', options: ['bind', ...options] };
}
