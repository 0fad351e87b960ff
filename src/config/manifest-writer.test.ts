import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManifestWriter } from './manifest-writer.js';

let folder: string;
let writer: ManifestWriter;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-manifest-writer-'));
  writer = new ManifestWriter({ folder, nodeName: 'n', findFile: () => undefined });
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const apply = async (
  kind: 'Pod' | 'ConfigMap' | 'Secret',
  fields: object,
  isDryRun = false,
): Promise<string> => {
  const object = { apiVersion: 'v1', kind, metadata: { name: 'web' }, ...fields };
  const outcome = await writer.apply({ kind, namespace: 'default', name: 'web' }, object, isDryRun);
  if (outcome.kind === 'applied') return outcome.result;
  if (outcome.kind === 'in the way') return outcome.kind;
  return outcome.problems.map(({ path, message }) => `${path}: ${message}`).join();
};

describe('an object that is handed to the agent', () => {
  it('is a file that nobody else reads, and is written again only for a change', async () => {
    const pod = { spec: { containers: [{ name: 'a', image: 'b' }] } };
    expect(await apply('Pod', pod, true)).toBe('created');
    expect(await readdir(folder)).toEqual([]);
    expect(await apply('Pod', pod)).toBe('created');
    expect(await apply('Secret', { stringData: { a: 'b' } })).toBe('created');
    expect((await readdir(folder)).sort()).toEqual(['default-web.pod.yaml', 'default-web.secret.yaml']);
    expect((await stat(join(folder, 'default-web.secret.yaml'))).mode & 0o777).toBe(0o600);
    expect(await apply('Pod', { ...pod, status: {} })).toBe('unchanged');
    expect(await apply('Secret', { data: { a: 'Yg==' } })).toBe('unchanged');
    expect(await apply('Secret', { stringData: { a: 'c' } })).toBe('configured');
  });

  it('is refused when it is wrong, or in a file with others, which stays as it is', async () => {
    expect(await apply('ConfigMap', { data: { '../a': 'b' } })).toMatch(/^data\[\.\.\/a\]: Invalid value/);
    expect(await readdir(folder)).toEqual([]);
    const both = ['a', 'b'].map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`);
    await writeFile(join(folder, 'default-web.configmap.yaml'), both.join('---\n'));
    expect(await apply('ConfigMap', {})).toBe('in the way');
  });

  it('is refused when it may not change as it does', async () => {
    const fixed = { immutable: true, data: { a: '1' } };
    expect(await apply('ConfigMap', fixed)).toBe('created');
    expect(await apply('ConfigMap', { ...fixed, data: { a: '2' } })).toMatch(
      /^data: Forbidden: field is immutable when `immutable` is set/,
    );
    expect(await apply('ConfigMap', { ...fixed, metadata: { name: 'web', labels: { a: 'b' } } })).toBe(
      'configured',
    );
    expect(await readFile(join(folder, 'default-web.configmap.yaml'), 'utf8')).toContain('a: "1"');
  });
});
