import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { FakeClock } from '#testing/fake-clock.js';
import { removeManifests } from './remove-manifest.js';
import { WritableManifests } from './writable-manifests.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'podloop-remove-'))));
afterEach(async () => rm(folder, { recursive: true }));

const SETTINGS = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: '1' } };
const NAMED = { kind: 'ConfigMap', namespace: 'default', name: 'settings', isDryRun: false } as const;

/** Of an agent that sees each removal at once. */
function setUp(source: string | undefined, hasFolder = true) {
  const metadata = { name: 'settings', namespace: 'default' };
  const object = { kind: 'ConfigMap', metadata, data: new Map() } as unknown as ConfigObject;
  const manifests = new WritableManifests({
    ...{
      clock: new FakeClock(),
      nodeName: 'node',
      policy: { forbid: new Set<never>(), allowedHostPaths: undefined },
    },
    manifests: hasFolder ? { path: folder, findFile: () => undefined } : undefined,
  });
  let looks = 0;
  const known = source === undefined ? [] : [{ source, object }];
  const remove = removeManifests({ manifests, objects: { all: () => (looks++ === 0 ? known : []) } });
  return async () => remove(NAMED, new AbortController().signal);
}

describe('an object is taken out of the manifests', () => {
  const asApplied = `${JSON.stringify(SETTINGS, null, 2)}\n`;

  it('with its file', async () => {
    await writeFile(join(folder, 'default_settings.configmap.yaml'), asApplied);
    expect(await setUp('file')()).toEqual({ kind: 'removed' });
    expect(await readdir(folder)).toEqual([]);
  });

  it('with a word about a file that somebody has written by hand, whatever it is called', async () => {
    const file = join(folder, 'default_settings.configmap.yaml');
    await writeFile(file, JSON.stringify(SETTINGS));
    expect(await setUp('file')()).toEqual({ kind: 'removed', note: `its manifest ${file} was removed` });
  });

  it('before the agent has seen it', async () => {
    await writeFile(join(folder, 'default_settings.configmap.yaml'), asApplied);
    expect(await setUp(undefined)()).toEqual({ kind: 'removed' });
  });

  it.each([
    ['is nowhere', undefined, true],
    ['is nowhere, with no folder', undefined, false],
  ])('but not one that %s', async (_what, source, hasFolder) => {
    expect(await setUp(source, hasFolder)()).toEqual({ kind: 'not found' });
  });

  it.each([
    [
      'holds a list within a list',
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'List' },
        items: [
          {
            ...{ apiVersion: 'v1', kind: 'List' },
            items: [SETTINGS, { ...SETTINGS, metadata: { name: 'b' } }],
          },
        ],
      }),
      'which has other objects, too',
    ],
    [
      'has errors',
      '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "dta": {}}',
      'which has errors in it',
    ],
    ['is empty', '', 'holds no object'],
  ])('but not where its file %s', async (_what, text, words) => {
    await writeFile(join(folder, 'default_settings.configmap.yaml'), text);
    expect(await setUp('file')()).toMatchObject({
      ...{ kind: 'refused', reason: 'Conflict' },
      message: expect.stringMatching(new RegExp(`${words}.*: remove it there$`)) as string,
    });
  });

  it.each([
    ['comes from a URL', 'http', true, 'it is in no file of the folder, but comes from http'],
    ['is known to an agent without a folder', 'stdin', false, 'the agent has no folder of manifests'],
  ])('but not one that %s', async (_what, source, hasFolder, words) => {
    expect(await setUp(source, hasFolder)()).toMatchObject({
      ...{ kind: 'refused', reason: 'MethodNotAllowed' },
      message: expect.stringContaining(words) as string,
    });
  });
});
