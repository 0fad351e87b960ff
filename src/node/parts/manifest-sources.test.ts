import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cri } from '../../watch/cri/index.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { claimManifestSources, findMissingManifests, nameBatch, SOURCES_FILE } from './manifest-sources.js';
import { validateManifests } from '../desired/changes/validate-manifests.js';

let folder: string;
let running: cri.PodSandbox[];
const at = (name: string): string => (name === '-' ? name : join(folder, name));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-sources-test-'));
  running = [];
  await mkdir(at('root'));
});

afterEach(() => rm(folder, { recursive: true }));

async function write(path: string, name: string, image = 'i'): Promise<void> {
  await mkdir(at(path), { recursive: true });
  const spec = { containers: [{ name: 'c', image }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
  await writeFile(join(at(path), `${name}.json`), JSON.stringify(pod));
}

/** Pods of the manifests run from now on. */
async function start(path: string, source = 'file'): Promise<void> {
  const { pods } = await validateManifests({ paths: [at(path)], nodeName: 'n', stdin: Readable.from([]) });
  for (const { uid, name, namespace, hash } of pods) {
    running.push(
      cri.PodSandbox.fromPartial({
        ...{ id: uid, metadata: { uid, name, namespace }, state: cri.PodSandboxState.SANDBOX_READY },
        annotations: { 'kubernetes.io/config.source': source, 'podloop.dev/manifest-hash': hash },
      }),
    );
  }
}

function claim(podManifestPath: string, manifestUrl = ''): Promise<void> {
  const options = { podManifestPath, manifestUrl, rootDir: at('root') };
  const client = { listPodSandbox: async () => Promise.resolve({ items: running }) };
  return claimManifestSources({
    ...{ options, nodeName: 'n', instanceId: 'ours', client, logger: SILENT_LOGGER },
  });
}

describe('an agent on a full disk', () => {
  const fill = async (): Promise<void> => symlink('/dev/full', `${at('root')}/${SOURCES_FILE}.tmp`);

  it('starts with the manifests of the one before, and with its first ones', async () => {
    await write('pods', 'web');
    await fill();
    await claim(at('pods'));
    await claim(at('pods'));
    await fill();
    await claim(at('pods'));
    await start('pods');
    await write('jobs', 'job');
    await expect(claim(at('jobs'))).rejects.toThrow('would end them');
  });
});

describe('an agent with other manifests than the one before', () => {
  beforeEach(async () => {
    await write('pods', 'web');
    await write('pods', 'db');
    await claim(at('pods'));
    await start('pods');
  });

  it('is refused with the names of the pods that it would end, and with what to do', async () => {
    await write('jobs', 'job');
    await expect(claim(at('jobs'))).rejects.toThrow(
      /pods of \S*\/pods run .*an agent with \S*\/jobs would end them: default\/db-n, default\/web-n\. .*--root-dir/,
    );
    await expect(claim(at('jobs'))).rejects.toMatchObject({ code: 'MANIFESTS_DIFFER' });
    // The refusal has changed nothing.
    await claim(at('pods'));
    await expect(claim(at('jobs'))).rejects.toThrow('would end them');
  });

  it.each([
    ['standard input', '-', ''],
    ['a URL', '', 'http://127.0.0.1:1/pods'],
    ['a folder that is not there', 'none', ''],
    ['one file of the folder', 'pods/web.json', ''],
  ])('is refused with %s', async (_what, path, url) => {
    await expect(claim(path === '' ? '' : at(path), url)).rejects.toMatchObject({ code: 'MANIFESTS_DIFFER' });
  });

  it('is refused for a pod of the same name that says something else, and for that alone', async () => {
    await write('other', 'web', 'another');
    await write('other', 'db');
    await expect(claim(at('other'))).rejects.toThrow(/would end them: default\/web-n\./);
  });

  it('may begin once nothing of them runs', async () => {
    await write('jobs', 'job');
    running = running.map((each) => ({ ...each, state: cri.PodSandboxState.SANDBOX_NOTREADY }));
    await claim(at('jobs'));
    await claim(at('jobs'));
  });

  it('may begin once the record was deleted', async () => {
    await write('jobs', 'job');
    await rm(join(at('root'), SOURCES_FILE));
    await claim(at('jobs'));
  });

  it('may begin where only pods of a cluster run', async () => {
    running = [];
    await start('pods', 'api');
    await claim(at('none'));
  });

  it('that names no manifests leaves the record as it is', async () => {
    await claim('');
    await expect(claim(at('none'))).rejects.toThrow('would end them');
  });
});

describe('pods of a workload', () => {
  const owner = { apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'web' } };
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const writeOwner = async (path: string) => {
    await mkdir(at(path), { recursive: true });
    await writeFile(join(at(path), 'web.json'), JSON.stringify({ ...owner, spec: { template } }));
  };

  beforeEach(async () => {
    await writeOwner('pods');
    await claim(at('pods'));
    const object = { ...owner, metadata: { name: 'web', namespace: 'default' }, spec: { template } };
    const entry = { name: 'web-x', uid: 'made', createdAtMs: 0, revision: 'r' };
    const root = {
      ...{ uid: 'rc', createdAtMs: 0, generation: 1, object, progress: {} },
      ...{ revisions: { r: template }, pods: [entry] },
    };
    await mkdir(join(at('root'), 'workloads'), { recursive: true });
    const record = JSON.stringify({ version: 1, source: 'file', root, owned: [] });
    await writeFile(join(at('root'), 'workloads', 'any.json'), record);
    running.push(
      cri.PodSandbox.fromPartial({
        ...{ id: 'made', metadata: { uid: 'made', name: 'web-x', namespace: 'default' } },
        state: cri.PodSandboxState.SANDBOX_READY,
        annotations: { 'kubernetes.io/config.source': 'file' },
      }),
    );
  });

  it('go on with other manifests that have the workload', async () => {
    await writeOwner('others');
    await claim(at('others'));
  });

  it('are named where other manifests have it not', async () => {
    await write('others', 'job');
    await expect(claim(at('others'))).rejects.toThrow(/would end them: default\/web-x\./);
  });
});

describe('the same manifests', () => {
  beforeEach(async () => {
    await write('pods', 'web');
    await claim(at('pods'));
    await start('pods');
  });

  it.each<[string, () => Promise<string>]>([
    ['named by a relative path', async () => Promise.resolve(relative(process.cwd(), at('pods')))],
    ['named with more slashes and dots', async () => Promise.resolve(`${folder}/./pods//`)],
    [
      'reached by a link',
      async () => {
        await symlink(at('pods'), at('link'));
        return at('link');
      },
    ],
    [
      'in a folder that was renamed and edited',
      async () => {
        await rename(at('pods'), at('renamed'));
        await write('renamed', 'web', 'another');
        return at('renamed');
      },
    ],
    [
      'copied to another folder, with one more',
      async () => {
        await cp(at('pods'), at('copy'), { recursive: true });
        await write('copy', 'more');
        return at('copy');
      },
    ],
    [
      'emptied',
      async () => {
        await rm(join(at('pods'), 'web.json'));
        return at('pods');
      },
    ],
    [
      'in a folder that was made once more',
      async () => {
        await rm(at('pods'), { recursive: true });
        await write('pods', 'other');
        return at('pods');
      },
    ],
    [
      'in a folder that is away',
      async () => {
        await rm(at('pods'), { recursive: true });
        return at('pods');
      },
    ],
  ])('%s are taken up', async (_what, change) => {
    const path = await change();
    await claim(path);
    await claim(path);
  });

  it('with a URL beside them are taken up, and without it they are refused while its pods run', async () => {
    await claim(at('pods'), 'http://127.0.0.1:1/');
    running = [];
    await start('pods', 'http');
    await write('jobs', 'job');
    await expect(claim(at('jobs'))).rejects.toThrow('default/web-n');
  });

  it('are taken up behind a link that leads elsewhere now', async () => {
    await symlink(at('pods'), at('current'));
    await claim(at('current'));
    await rm(at('current'));
    await write('next', 'web', 'another');
    await symlink(at('next'), at('current'));
    await claim(at('current'));
  });

  it('from standard input are the same whatever they say', async () => {
    running = [];
    await claim('-');
    await start('pods', 'stdin');
    await claim('-');
  });
});

it.each(['', 'no JSON', '{"version":9,"sources":[]}', '{"version":1}', '[]'])(
  'a record that says %j keeps no agent away, and is written again',
  async (text) => {
    await write('pods', 'web');
    await writeFile(join(at('root'), SOURCES_FILE), text);
    await start('pods');
    await claim(at('jobs'));
    expect(JSON.parse(await readFile(join(at('root'), SOURCES_FILE), 'utf8'))).toMatchObject({
      version: 1,
      sources: [{ kind: 'file', place: at('jobs') }],
    });
  },
);

describe('the name of a batch', () => {
  const nameOf = (podManifestPath: string, manifestUrl = '') => nameBatch({ podManifestPath, manifestUrl });

  it('is the same for the same manifests, however they are named', async () => {
    await mkdir(at('My Jobs!'));
    await symlink(at('My Jobs!'), at('link'));
    const name = await nameOf(at('My Jobs!'));
    expect(name).toMatch(/^my-jobs-[0-9a-f]{8}$/);
    expect(await nameOf(relative(process.cwd(), at('My Jobs!')))).toBe(name);
    expect(await nameOf(at('link'))).toBe(name);
  });

  it('is another one for others, and short', async () => {
    const long = 'x'.repeat(200);
    const names = await Promise.all([
      ...[nameOf(at('a/jobs')), nameOf(at('b/jobs')), nameOf('-'), nameOf('', 'http://h/jobs')],
      nameOf(at(long)),
    ]);
    expect(new Set(names).size).toBe(names.length);
    expect(names.find((each) => each.startsWith('xxx'))).toMatch(/^x{20}-[0-9a-f]{8}$/);
    expect(names).toContain('stdin');
  });
});

it('a path that is not there is missing, and nothing else is', async () => {
  const find = (podManifestPath: string) => findMissingManifests({ podManifestPath, manifestUrl: '' });
  expect(await find(at('none'))).toMatch(
    /^\S*none does not exist: make that folder or file of Pod manifests first/,
  );
  expect(await Promise.all([find(folder), find('-'), find('')])).toEqual([undefined, undefined, undefined]);
  for (const image of ['busybox:1.37', 'nginx', 'ghcr.io/team/web:v1'])
    expect(await find(image)).toMatch(/; an image is run by a manifest that names it$/);
});

it('a file of another program counts as missing, and a manifest does not', async () => {
  const find = async (text: string): Promise<string | undefined> => {
    await writeFile(at('file.yaml'), text);
    return findMissingManifests({ podManifestPath: at('file.yaml'), manifestUrl: '' });
  };
  expect(await find('services: { web: { image: nginx } }')).toMatch(/file\.yaml: a Compose file is no/);
  expect(await find('kind: Pod\nservices: {}')).toBeUndefined();
  expect(await find('a: [')).toBeUndefined();
});
