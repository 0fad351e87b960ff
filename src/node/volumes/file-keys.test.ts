import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { aSpecContainer, aSpecPod } from '#support/builders/node-pods.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type FileKeySelector } from '#kube/objects/env-source.js';
import { type FileKey, type FileKeys } from '../runtime/config/resolve-environment.js';
import { readFileKeys } from './file-keys.js';

const NEVER = new AbortController().signal;

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
  const found = (await readFileKeys(pod, container, { hostPathOf, logger }, NEVER)).get(fileKeyRef)!;
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

async function readAll(selectors: readonly FileKeySelector[], signal = NEVER): Promise<FileKeys> {
  const env = selectors.map((fileKeyRef, at) => ({ name: `X${at}`, valueFrom: { fileKeyRef } }));
  const container = aSpecContainer({ env });
  const pod = aSpecPod({ containers: [container], volumes: [{ name: 'data', emptyDir: {} }] });
  return await readFileKeys(pod, container, { hostPathOf: () => join(folder, 'data'), logger }, signal);
}

it('variables of one file share one read of it', async () => {
  const selectors = Array.from({ length: 60 }, (_, at) => ({
    ...{ volumeName: 'data', path: 'large.env', key: at === 0 ? 'B' : 'A' },
  }));
  await writeFile(join(folder, 'data/large.env'), `A='${`${'x'.repeat(1000)}\n`.repeat(200)}'\nB='b'`);
  const found = await readAll(selectors);
  const values = new Set([...found.values()].map((each) => (each as FileKey).value));
  expect([...values].map(({ length }) => length)).toEqual([1, 200_200]);
});

it('variables that come to more than an environment may have are refused, without the value', async () => {
  await writeFile(join(folder, 'data/large.env'), `A='${'\n'.repeat(1024 * 1024 - 5)}'\n`);
  const selectors = Array.from({ length: 18 }, () => ({ volumeName: 'data', path: 'large.env', key: 'A' }));
  const found = [...(await readAll(selectors)).values()].map((each) => each instanceof Error);
  expect(found).toEqual([...Array<boolean>(16).fill(false), true, true]);
  const last = (await readAll(selectors)).get(selectors[17]!);
  expect(last).toEqual(
    new Error('variables from files come to more than 16777216 bytes; mount large values as files'),
  );
});

it('a file that is too large says so where its users see it', async () => {
  await writeFile(join(folder, 'data/large.env'), '\n'.repeat(1024 * 1024 + 1));
  expect(await read('large.env')).toBe("couldn't parse env file: the file has more than 1048576 bytes");
});

it('a read ends with its signal', async () => {
  const abort = new AbortController();
  const found = readAll([{ volumeName: 'data', path: 'sub/a.env', key: 'A' }], abort.signal);
  abort.abort(new Error('enough'));
  await expect(found).rejects.toThrow('enough');
});
