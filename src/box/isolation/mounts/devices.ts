import { type Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { type Device } from '#watch/messages';
import { invalidArgument, refused, unimplemented } from '../../rpc-error.js';
import { isBelow } from '#base/proc/mountinfo.js';

/** A node of the host's /dev, and where a container finds it. */
export interface DeviceNode {
  readonly hostPath: string;
  readonly containerPath: string;
}

/** What a container finds in its /dev. */
export interface ContainerDevices {
  /** Nodes of the host's /dev itself that it gets under the same names. */
  readonly devices: readonly string[];
  readonly extraDevices: readonly DeviceNode[];
}

/** What every container has. */
const PLAIN_DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`);
/** Their numbers, as the kernel has them for good: see devices.txt of Linux. */
const PLAIN_NUMBERS = [
  [1, 3],
  [1, 5],
  [1, 7],
  [1, 8],
  [1, 9],
  [5, 0],
].map(([major = 0, minor = 0]) => major * 256 + minor);
/** Folders of /dev that are file systems of their own. */
const MOUNTED = ['pts', 'shm', 'mqueue', 'hugepages'];
const DEEPEST = 4;

/** Throws for a device that cannot be, whatever the host has. */
export function checkDevice({ hostPath, containerPath, permissions }: Device): void {
  if (!hostPath.startsWith('/')) throw invalidArgument(`host_path "${hostPath}" of a device is not absolute`);
  const target = posix.normalize(containerPath === '' ? hostPath : containerPath);
  if (!isBelow(target, '/dev') || target === '/dev') {
    throw unimplemented(
      `not supported by the embedded runtime: the device "${target}", as it is not below /dev`,
    );
  }
  if (permissions !== '' && !(permissions.includes('r') && permissions.includes('w'))) {
    throw unimplemented('not supported by the embedded runtime: devices without leave to read and to write');
  }
}

/**
 * Whether a file is a device that every container has anyway, such as `/dev/null`. It has to be below the host's /dev,
 * or a copy of a file there: elsewhere a container could put another device in its place.
 */
export function isPlainDevice(path: string, facts: Stats, fsType: string | undefined): boolean {
  return (
    (isBelow(path, '/dev') || fsType === 'devtmpfs') &&
    facts.isCharacterDevice() &&
    PLAIN_NUMBERS.includes(facts.rdev)
  );
}

/** All nodes of a container. Throws UNKNOWN for one that is none. */
export async function findContainerDevices(
  asked: readonly Device[],
  privileged: boolean,
): Promise<ContainerDevices> {
  const all = privileged
    ? await listAllDevices()
    : PLAIN_DEVICES.map((path) => ({ hostPath: path, containerPath: path }));
  const wanted = [...all, ...(await findDevices(asked))];
  const isFlat = ({ hostPath, containerPath }: DeviceNode) =>
    hostPath === containerPath && posix.dirname(hostPath) === '/dev';
  return {
    devices: [...new Set(wanted.filter(isFlat).map(({ hostPath }) => hostPath))],
    extraDevices: wanted.filter((node) => !isFlat(node)),
  };
}

/** The nodes that the devices of a request mean; a folder means all nodes in it. Throws UNKNOWN for one that is none. */
async function findDevices(devices: readonly Device[]): Promise<readonly DeviceNode[]> {
  const found = await Promise.all(
    devices.map(async ({ hostPath, containerPath }) => {
      const target = posix.normalize(containerPath === '' ? hostPath : containerPath);
      const source = await realpath(hostPath).catch(() => undefined);
      const nodes = source === undefined ? [] : await listNodes(source, '');
      if (nodes.length === 0) throw refused(`"${hostPath}" is no device of this machine`);
      return nodes.map((name) => ({ hostPath: join(source!, name), containerPath: join(target, name) }));
    }),
  );
  return found.flat();
}

/** Every node of the host, for privileged containers. */
async function listAllDevices(): Promise<readonly DeviceNode[]> {
  const nodes = await listNodes('/dev', '');
  return nodes.map((name) => ({ hostPath: join('/dev', name), containerPath: join('/dev', name) }));
}

async function listNodes(root: string, below: string, depth = 0): Promise<string[]> {
  const facts = await stat(join(root, below)).catch(() => undefined);
  if (facts === undefined) return [];
  if (facts.isCharacterDevice() || facts.isBlockDevice()) return [below];
  if (!facts.isDirectory() || depth > DEEPEST || (depth === 1 && MOUNTED.includes(below))) return [];
  const entries = await readdir(join(root, below), { withFileTypes: true });
  const nodes = entries.filter((entry) => !entry.isSymbolicLink());
  return (await Promise.all(nodes.map(({ name }) => listNodes(root, join(below, name), depth + 1)))).flat();
}
