import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifests } from '../../../../node/desired/manifests/manifest-reader.js';
import { demoPodName, readDemoPods, toDemoManifest } from './demo-pods.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-demo-pods-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function manifest(name: string, more = ''): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { containers: [{ name: a, image: i${more} }] }\n`;
}

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

describe('the pods of the demo', () => {
  it('come in the order of their files, and of the documents in them', async () => {
    await write({
      '2.yml': manifest('c'),
      '1.yaml': `${manifest('a')}---\n${manifest('b')}`,
      'notes.txt': 'no',
    });
    const { pods } = await readDemoPods(folder, 'demo');
    expect(pods.map(demoPodName)).toEqual(['default/a', 'default/b', 'default/c']);
  });

  it.each<[why: string, files: Readonly<Record<string, string>>, message: RegExp]>([
    ['the folder is empty', {}, /there is no \.yaml.* file in it/],
    ['a file is empty', { 'a.yaml': '' }, /a\.yaml: there is no pod in it/],
    [
      'a field is misspelt',
      { 'a.yaml': manifest('a', ', comand: [x]') },
      /a\.yaml:4:\d+: spec\.containers\[0\]\.comand: /,
    ],
    [
      'there are two of a name',
      { 'a.yaml': manifest('a'), 'b.yaml': manifest('a') },
      /b\.yaml: there is a pod default\/a already/,
    ],
  ])('are refused as a whole when %s', async (_why, files, message) => {
    await write(files);
    await expect(readDemoPods(folder, 'demo')).rejects.toMatchObject({
      code: 'MANIFEST_INVALID',
      message: expect.stringMatching(message) as string,
    });
  });

  it('have the objects beside them that they refer to', async () => {
    const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { a: b }\n';
    await write({ '1.yaml': settings, '2.yaml': manifest('a') });
    const contents = await readDemoPods(folder, 'demo');
    const reading = readManifests(toDemoManifest(contents, '/bin'), { file: 'pods.json' });
    expect(reading.problems).toEqual([]);
    expect(reading.objects.map(({ object }) => object)).toEqual(contents.objects);
    expect([reading.pods, reading.objects].map(({ length }) => length)).toEqual([1, 1]);
    await write({ '3.yaml': settings });
    await expect(readDemoPods(folder, 'demo')).rejects.toThrow(
      'there is a ConfigMap default/settings already',
    );
  });

  it('are refused when the folder cannot be read', async () => {
    await expect(readDemoPods(join(folder, 'none'), 'demo')).rejects.toMatchObject({
      code: 'MANIFEST_INVALID',
    });
  });

  it('become one manifest whose containers have the PATH of this machine, unless they have one', async () => {
    await write({ '1.yaml': manifest('a', ', env: [{ name: PATH, value: /own }]'), '2.yaml': manifest('b') });
    const text = toDemoManifest(await readDemoPods(folder, 'demo'), '/bin:/$(x)');
    const { pods, problems } = readManifests(text, { file: 'pods.json' });
    expect(problems).toEqual([]);
    const path = { name: 'PATH', value: '/bin:/$$(x)' };
    expect(pods.map(({ pod }) => pod.spec.containers[0]!.env)).toEqual([
      [path, { name: 'PATH', value: '/own' }],
      [path],
    ]);
  });
});
