import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeOlderLogs } from './older-logs.js';

const POD = { uid: 'u1', namespace: 'default', name: 'web' };

let folder: string;
let logDir: string;
let containerLogLinksDir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'older-logs-'));
  logDir = join(folder, 'logs/app');
  containerLogLinksDir = join(folder, 'links');
  await mkdir(logDir, { recursive: true });
  await mkdir(containerLogLinksDir);
});
afterEach(async () => rm(folder, { recursive: true }));

it('all logs of a container but the newest are removed, with rotated files and links', async () => {
  const names = ['2.log', '9.log', '10.log', '9.log.20260101-000000.gz', '10.log.20260101-000000', 'other'];
  for (const name of names) await writeFile(join(logDir, name), '');
  const links = { 'web_default_app-a.log': '9.log', 'web_default_app-b.log': '10.log' };
  for (const [link, log] of Object.entries(links))
    await symlink(join(logDir, log), join(containerLogLinksDir, link));
  await symlink(join(logDir, '9.log'), join(containerLogLinksDir, 'not-ours.log'));
  await removeOlderLogs(POD, 'app', { logDir, containerLogLinksDir });
  expect((await readdir(logDir)).sort()).toEqual(['10.log', '10.log.20260101-000000', 'other']);
  expect((await readdir(containerLogLinksDir)).sort()).toEqual(['not-ours.log', 'web_default_app-b.log']);
});

it('nothing is removed where there are no logs, or behind a link in place of the folder', async () => {
  await removeOlderLogs(POD, 'app', { logDir: join(folder, 'missing') });
  await removeOlderLogs(POD, 'app', { logDir });
  await writeFile(join(logDir, '0.log'), '');
  await writeFile(join(logDir, '1.log'), '');
  await symlink(logDir, join(folder, 'link'));
  await removeOlderLogs(POD, 'app', { logDir: join(folder, 'link') });
  expect((await readdir(logDir)).sort()).toEqual(['0.log', '1.log']);
});
