import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Pod } from '#kube/pod/pod.js';
import { type LastGood, LastGoodStore } from './last-good-store.js';
import { type SourcePod, toSourcePod } from '../manifests/source-pod.js';

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-last-good-'));
  folder = join(root, 'below', 'last-good');
});
afterEach(async () => rm(root, { recursive: true, force: true }));

const store = (source = 'file', nodeName = 'n'): LastGoodStore =>
  new LastGoodStore({ folder, source, nodeName });

function pod(name: string, nodeName = 'n'): SourcePod {
  const written: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations: { note: 'a\ttab\nand a line' } } },
    spec: { containers: [{ name: 'c', image: 'a' }] },
  };
  const place = { file: '/pods/f.yaml', line: 3, column: 1 };
  return toSourcePod({ pod: written, place }, { source: 'file', nodeName });
}

const version = (name: string, ...pods: SourcePod[]): LastGood => ({
  origin: '/pods',
  name,
  pods,
  objects: [],
});

describe('last good versions', () => {
  it('come back as they were kept, in a folder of their own', async () => {
    expect(await store().load()).toMatchObject({ versions: [], faults: [] });
    const a = { ...version('a.yaml', pod('a'), pod('b')), digest: 'd'.repeat(64) };
    const b = version('b.yaml');
    expect(await store().save([a, b])).toEqual(new Map());
    const { versions, faults } = await store().load();
    expect(versions).toHaveLength(2);
    expect(versions).toEqual(expect.arrayContaining([a, b]));
    expect(faults).toEqual([]);
  });

  it('are made pods of the node that asks', async () => {
    await store().load();
    await store().save([version('a.yaml', pod('a'))]);
    const { versions } = await store('file', 'other').load();
    expect(versions[0]!.pods).toEqual([pod('a', 'other')]);
  });

  it('are those of one source, and of files that are there', async () => {
    await store().load();
    await store().save([version('a.yaml', pod('a')), version('b.yaml', pod('b'))]);
    await store('http').save([{ origin: 'http://x', name: '', pods: [], objects: [] }]);
    await store().prune('/pods', ['b.yaml', 'new.yaml']);
    expect((await store().load()).versions.map(({ name }) => name)).toEqual(['b.yaml']);
    expect((await store('http').load()).versions).toHaveLength(1);
    await store().prune('/elsewhere', ['b.yaml']);
    expect((await store().load()).versions).toEqual([]);
  });

  it.each([
    ['is no text of ours', 'hello'],
    ['is empty', ''],
    ['is of another format', '{"format":99,"origin":"/pods","name":"a.yaml","pods":0}\n'],
    ['is of another file', '{"format":1,"origin":"/pods","name":"b.yaml","pods":0}\n'],
    ['is cut short', '{"format":1,"origin":"/pods","name":"a.yaml","pods":1}\n'],
    ['has a pod that is none', '{"format":1,"origin":"/pods","name":"a.yaml","pods":1}\n{}\t{}\n'],
  ])('are lost when a record %s, and only those', async (_, text) => {
    await store().load();
    await store().save([version('a.yaml', pod('a'))]);
    const [record] = await readdir(folder);
    await store().save([version('b.yaml', pod('b'))]);
    await writeFile(join(folder, record!), text);
    const { versions, faults, isLost } = await store().load();
    expect(versions.map(({ name }) => name)).toEqual(['b.yaml']);
    expect(faults).toEqual([expect.stringContaining(record!)]);
    expect([isLost('/pods', 'a.yaml'), isLost('/pods', 'b.yaml'), isLost('/x', 'a.yaml')]).toEqual([
      ...[true, false, false],
    ]);
  });

  it('are not there, and all may be lost, when their folder cannot be one', async () => {
    await writeFile(join(root, 'below'), 'a file');
    const { versions, faults, isLost } = await store().load();
    expect(versions).toEqual([]);
    expect(faults).toEqual([expect.stringContaining('last good versions cannot be read')]);
    expect(isLost('/pods', 'any')).toBe(true);
    const unsaved = await store().save([version('a.yaml', pod('a'))]);
    expect([...unsaved.keys()]).toEqual(['a.yaml']);
    await expect(store().prune('/pods', [])).resolves.toBeUndefined();
  });

  it('leave nothing half-written behind, whenever the power goes', async () => {
    await store().load();
    await store().save([version('a.yaml', pod('a'))]);
    const [record] = await readdir(folder);
    const text = await readFile(join(folder, record!), 'utf8');
    await writeFile(join(folder, `${record!}.tmp`), text.slice(0, 20));
    expect((await store().load()).versions).toHaveLength(1);
    expect(await readdir(folder)).toEqual([record]);
  });

  it('are kept for the agent’s eyes', async () => {
    await store().load();
    await store().save([version('a.yaml', pod('a'))]);
    const [record] = await readdir(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, record!))).mode & 0o777).toBe(0o600);
  });
});
