import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { readFileKeys } from './file-keys.js';

let folder: string;
let logger: LogRecorder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-keys-'));
  logger = new LogRecorder();
  await mkdir(join(folder, 'data/sub'), { recursive: true });
  await writeFile(join(folder, 'data/sub/a.env'), "A='one'\nB=''\n");
  await writeFile(join(folder, 'outside.env'), "A='secret'\n");
});
afterEach(async () => rm(folder, { recursive: true }));

async function read(path: string, key = 'A', volumeName = 'data'): Promise<string> {
  const fileKeyRef = { volumeName, path, key };
  const container = aSpecContainer({ env: [{ name: 'X', valueFrom: { fileKeyRef } }] });
  const volumes = [
    { name: 'data', emptyDir: {} },
    { name: 'host', hostPath: { path: '/' } },
  ];
  const pod = aSpecPod({ containers: [container], volumes });
  const hostPathOf = (_pod: unknown, volume: { readonly name: string }) => join(folder, volume.name);
  const found = (await readFileKeys(pod, container, { hostPathOf, logger })).get(fileKeyRef)!;
  return found instanceof Error ? found.message : `${found.file}: ${Buffer.from(found.value).toString()}`;
}

it('a variable comes from a file of an emptyDir, whose path may begin with a slash', async () => {
  const file = join(folder, 'data/sub/a.env');
  expect(await read('sub/a.env')).toBe(`${file}: one`);
  expect(await read('/sub/./a.env')).toBe(`${file}: one`);
  expect(await read('sub/a.env', 'B')).toBe(`${file}: `);
  await symlink('sub/a.env', join(folder, 'data/link'));
  expect(await read('link')).toBe(`${join(folder, 'data/link')}: one`);
});

it('a variable does not come from what is no file, not there, or outside of the volume', async () => {
  await symlink('../outside.env', join(folder, 'data/out'));
  await symlink('/etc/hostname', join(folder, 'data/node'));
  await symlink('..', join(folder, 'data/up'));
  execFileSync('mkfifo', [join(folder, 'data/pipe')]);
  for (const path of ['missing', 'sub', 'out', 'node', 'up/outside.env', '../outside.env', 'pipe'])
    expect([path, await read(path)]).toEqual([path, "couldn't parse env file"]);
  expect(logger.lines.map(({ message }) => message)).toEqual(Array(7).fill('Failed to parse env file'));
});

it('a variable comes from no other volume', async () => {
  for (const name of ['host', 'none']) {
    const message = `cannot find the volume "${name}" referenced by FileKeyRef`;
    expect(await read('a', 'A', name)).toBe(message);
  }
});
