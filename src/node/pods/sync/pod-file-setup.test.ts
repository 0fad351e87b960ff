import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import {
  linkContainerLog,
  makePodFolders,
  makeTerminationFile,
  readLastRestartCount,
} from './pod-file-setup.js';

let folder: string;
let paths: PodPaths;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-files-'));
  paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

it('makes the folders of a pod, again and again', async () => {
  const pod = aSpecPod();
  await makePodFolders(paths, pod);
  await makePodFolders(paths, pod);
  expect(await modeOf(join(folder, 'root/pods/u1'))).toBe(0o750);
  expect(await modeOf(join(folder, 'root/pods/u1/containers/app'))).toBe(0o750);
  expect(await modeOf(join(folder, 'logs/default_web_u1/app'))).toBe(0o755);
});

it('lets whoever a container runs as write its last words', async () => {
  await makePodFolders(paths, aSpecPod());
  const file = await makeTerminationFile(paths, 'u1', 'app', 4);
  expect(file).toBe(join(folder, 'root/pods/u1/containers/app/4'));
  expect(await modeOf(file)).toBe(0o666);
  await writeFile(file, 'of the try before');
  await makeTerminationFile(paths, 'u1', 'app', 4);
  expect(await readFile(file, 'utf8')).toBe('');
});

it('keeps the last words of a crash loop’s newest containers only', async () => {
  await makePodFolders(paths, aSpecPod());
  for (let count = 0; count < 25; count++) await makeTerminationFile(paths, 'u1', 'app', count);
  const files = await readdir(join(folder, 'root/pods/u1/containers/app'));
  expect(files.map(Number).sort((one, other) => one - other)).toEqual([
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
  ]);
});

it('lets nobody choose by a link what last words are written to', async () => {
  await makePodFolders(paths, aSpecPod());
  await writeFile(join(folder, 'outside'), 'kept');
  const file = join(folder, 'root/pods/u1/containers/app/0');
  await symlink(join(folder, 'outside'), file);
  await makeTerminationFile(paths, 'u1', 'app', 0);
  expect(await readFile(join(folder, 'outside'), 'utf8')).toBe('kept');
  expect((await lstat(file)).isFile()).toBe(true);
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
