import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PodPaths } from '../runtime/pod-paths.js';
import { aNodePod } from '../testing/node-pods.js';
import {
  formatHostsFile,
  linkContainerLog,
  makePodFolders,
  makeTerminationFile,
  readLastRestartCount,
  writeHostsFile,
} from './pod-files.js';

let folder: string;
let paths: PodPaths;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-files-'));
  paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it('makes the folders of a pod, again and again', async () => {
  const pod = aNodePod();
  await makePodFolders(paths, pod);
  await makePodFolders(paths, pod);
  expect(await modeOf(join(folder, 'root/pods/u1'))).toBe(0o750);
  expect(await modeOf(join(folder, 'root/pods/u1/containers/app'))).toBe(0o750);
  expect(await modeOf(join(folder, 'logs/default_web_u1/app'))).toBe(0o755);
});

it('lets whoever a container runs as write its last words', async () => {
  await makePodFolders(paths, aNodePod());
  const file = await makeTerminationFile(paths, 'u1', 'app', 4);
  expect(file).toBe(join(folder, 'root/pods/u1/containers/app/4'));
  expect(await modeOf(file)).toBe(0o666);
  await writeFile(file, 'of the try before');
  await makeTerminationFile(paths, 'u1', 'app', 4);
  expect(await readFile(file, 'utf8')).toBe('');
});

it('keeps the last words of a crash loop’s newest containers only', async () => {
  await makePodFolders(paths, aNodePod());
  for (let count = 0; count < 25; count++) await makeTerminationFile(paths, 'u1', 'app', count);
  const files = await readdir(join(folder, 'root/pods/u1/containers/app'));
  expect(files.map(Number).sort((one, other) => one - other)).toEqual([
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
  ]);
});

it('writes through no link', async () => {
  await makePodFolders(paths, aNodePod());
  await writeFile(join(folder, 'outside'), 'kept');
  await symlink(join(folder, 'outside'), join(folder, 'root/pods/u1/containers/app/0'));
  await expect(makeTerminationFile(paths, 'u1', 'app', 0)).rejects.toThrow();
  expect(await readFile(join(folder, 'outside'), 'utf8')).toBe('kept');
});

it('keeps the file of /etc/hosts that containers have mounted', async () => {
  await makePodFolders(paths, aNodePod());
  const file = await writeHostsFile(paths, 'u1', 'one');
  const { ino } = await stat(file);
  await writeHostsFile(paths, 'u1', 'two');
  expect(await readFile(file, 'utf8')).toBe('two');
  expect((await stat(file)).ino).toBe(ino);
  expect(await modeOf(file)).toBe(0o644);
});

it('names the pod in its /etc/hosts by its name, its full name, and its aliases', () => {
  const facts = { ips: ['10.88.0.2', 'fd00::2'], hostname: 'web', clusterDomain: 'cluster.local' };
  const plain = formatHostsFile(aNodePod(), facts);
  expect(plain).toContain('127.0.0.1\tlocalhost\n');
  expect(plain).toContain('\n10.88.0.2\tweb\nfd00::2\tweb\n');
  const pod = aNodePod({ subdomain: 'shop', hostAliases: [{ ip: '192.0.2.7', hostnames: ['db', 'cache'] }] });
  const full = formatHostsFile(pod, facts);
  expect(full).toContain('\n10.88.0.2\tweb.shop.default.svc.cluster.local\tweb\n');
  expect(full).toContain('\n192.0.2.7\tdb\tcache\n');
});

it('reads the last restart count from the names of logs', async () => {
  const logs = join(folder, 'l');
  expect(await readLastRestartCount(logs)).toBeUndefined();
  await mkdir(logs);
  expect(await readLastRestartCount(logs)).toBeUndefined();
  for (const name of ['0.log', '9.log', '12.log.20260102-030405.gz', 'x.log', '99.txt']) {
    await writeFile(join(logs, name), '');
  }
  expect(await readLastRestartCount(logs)).toBe(12);
});

it('links a log for those who collect them, also a second time', async () => {
  const names = { pod: 'web', namespace: 'default', container: 'app', id: 'abc' };
  await linkContainerLog(join(folder, 'links'), '/logs/0.log', names);
  await linkContainerLog(join(folder, 'links'), '/logs/1.log', names);
  expect(await readlink(join(folder, 'links/web_default_app-abc.log'))).toBe('/logs/1.log');
});
