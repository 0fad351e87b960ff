import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedRuntime } from '#box';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { ContainerState, Container, Image } from '#watch/messages';
import { CriTestServer, type CriTestServerOptions } from '#support/clients/cri-test-server.js';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { packTar } from '#support/builders/pack-tar.js';
import { AgentCommandHarness, type Ran } from '#support/harness/agent-command-harness.js';

const ends = new DisposalStack();
let lab: AgentCommandHarness;
let folder: string;

beforeEach(async () => {
  lab = ends.use(await AgentCommandHarness.open());
  folder = await mkdtemp(join(tmpdir(), 'podloop-image-commands-'));
  ends.defer(() => rm(folder, { recursive: true, force: true }));
});
afterEach(() => ends[Symbol.asyncDispose]());

/** Runs a command on a runtime. */
function on(endpoint: string, stdin?: string | Uint8Array) {
  return (...args: string[]): Promise<Ran> => {
    const at = args[0] === 'image' ? 2 : 1;
    const words = [...args.slice(0, at), '--runtime-endpoint', endpoint, ...args.slice(at)];
    return lab.start(words, stdin === undefined ? {} : { stdin }).ended;
  };
}

async function startBox(name = 'box'): Promise<string> {
  const listen = `unix://${folder}/${name}.sock`;
  const runtime = await EmbeddedRuntime.start({
    ...{ listen, rootDir: join(folder, name), isolation: 'none', network: 'host' },
    registry: { configFolders: [], environment: { HOME: folder } },
  });
  ends.use(runtime);
  return listen;
}

function aLayout(names: readonly string[]): { layout: OciLayout; id: string } {
  const layout = new OciLayout();
  const layers = [[{ name: 'etc/motd', content: 'hello'.repeat(1_000) }], [{ name: 'app', content: 'run' }]];
  const config = { Cmd: ['/app'], User: '7' };
  const { id } = layout.addImage({ names, layers, config, compression: 'gzip' });
  return { layout, id };
}

const lines = (text: string): string[] => text.trimEnd().split('\n');

describe('images of the runtime in the box', () => {
  it('go with the last of their names, and at once by an id', async () => {
    const podloop = on(await startBox());
    const registry = ends.use(await FakeRegistry.start());
    const made = registry.layout.addManifest({ layers: [[{ name: 'a', content: 'a' }]], config: {} });
    for (const tag of ['app:1', 'app:2']) registry.tag(tag, made.manifest);
    const [one, two] = ['app:1', 'app:2'].map((tag) => `${registry.host}/${tag}`);
    const digest = `${registry.host}/app@${made.manifest.digest}`;
    for (const name of [one!, two!]) expect(await podloop('pull', '-q', name)).toMatchObject({ code: 0 });

    expect(await podloop('rmi', one!)).toMatchObject({ code: 0, stdout: `Untagged: ${one}\n` });
    expect(await podloop('rmi', two!)).toMatchObject({
      ...{ code: 0, stdout: `Untagged: ${two}\nUntagged: ${digest}\nDeleted: ${made.id}\n` },
    });

    for (const name of [one!, two!]) expect(await podloop('pull', '-q', name)).toMatchObject({ code: 0 });
    expect((await podloop('rmi', made.id)).stdout).toBe(
      `Untagged: ${one}\nUntagged: ${two}\nUntagged: ${digest}\nDeleted: ${made.id}\n`,
    );
  });

  it('are pulled, listed, inspected and removed', async () => {
    const podloop = on(await startBox());
    const registry = ends.use(await FakeRegistry.start());
    const layers = [[{ name: 'a', content: 'a'.repeat(2_000) }]];
    const made = registry.layout.addManifest({ layers, config: { Cmd: ['/a'] } });
    registry.tag('app:1', made.manifest);
    const name = `${registry.host}/app:1`;

    const pulled = await podloop('pull', name);
    expect(pulled).toMatchObject({ code: 0, stderr: '' });
    expect(lines(pulled.stdout).slice(-3)).toEqual([
      `Digest: ${made.manifest.digest}`,
      `Status: Downloaded newer image for ${name}`,
      name,
    ]);
    expect(pulled.stdout).toContain(': Pull complete\n');
    expect((await podloop('pull', name)).stdout).toContain(`Status: Image is up to date for ${name}\n`);
    expect((await podloop('pull', '-q', name)).stdout).toBe(`${name}\n`);

    const short = made.id.slice('sha256:'.length).slice(0, 13);
    const digest = made.manifest.digest.slice('sha256:'.length).slice(0, 13);
    const table = await podloop('images', '--digests', `${registry.host}/app`);
    expect(lines(table.stdout).map((line) => line.split(/ {2,}/))).toEqual([
      ['IMAGE', 'TAG', 'DIGEST', 'IMAGE ID', 'SIZE'],
      [`${registry.host}/app`, '1', digest, short, expect.stringMatching(/^[\d.]+kB$/)],
    ]);
    expect((await podloop('images', '-q', short)).stdout).toBe(`${made.id}\n`);
    const listed = JSON.parse((await podloop('image', 'ls', '-o', 'json')).stdout) as { images: object[] };
    expect(listed.images).toContainEqual(expect.objectContaining({ id: made.id, repoTags: [name] }));

    const [found] = JSON.parse((await podloop('image', 'inspect', short)).stdout) as object[];
    expect(found).toMatchObject({
      ...{ Id: made.id, RepoTags: [name], Config: { Cmd: ['/a'] }, Os: 'linux' },
      RootFS: { Type: 'layers', Layers: [expect.stringMatching(/^sha256:/)] },
    });

    expect(await podloop('rmi', short)).toEqual({
      code: 0,
      stdout: `Untagged: ${name}\nUntagged: ${registry.host}/app@${made.manifest.digest}\nDeleted: ${made.id}\n`,
      stderr: '',
    });
    expect(await podloop('rmi', name)).toMatchObject({ code: 1, stderr: `error: no such image: ${name}\n` });
    expect(await podloop('rmi', '-f', name)).toMatchObject({ code: 0, stderr: '' });
    const gone = await podloop('image', 'inspect', name);
    expect([gone.code, gone.stdout, gone.stderr]).toEqual([1, '[]\n', `error: no such image: ${name}\n`]);
  });

  it('are shown at their pull with the digest that the name means, also where the image has several', async () => {
    const podloop = on(await startBox());
    const registry = ends.use(await FakeRegistry.start());
    const { manifest } = registry.layout.addManifest({ layers: [[{ name: 'a' }]] });
    const index = registry.layout.addIndex([manifest]);
    for (const target of [manifest, index, manifest]) {
      registry.tag('app:1', target);
      const { stdout } = await podloop('pull', `${registry.host}/app:1`);
      expect(stdout).toContain(`\nDigest: ${target.digest}\n`);
    }
  });

  it('for another platform are pulled when they are asked for', async () => {
    const podloop = on(await startBox());
    const registry = ends.use(await FakeRegistry.start());
    const layers = [[{ name: 'a' }]];
    const made = registry.layout.addManifest({ layers, architecture: 's390x' });
    registry.tag('app:1', made.manifest);
    const refused = await podloop('pull', `${registry.host}/app:1`);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('it has linux/s390x')]);
    expect((await podloop('pull', '--platform', 's390x', `${registry.host}/app:1`)).code).toBe(0);
    const wrong = await podloop('pull', '--platform', 'a/b/c/d', `${registry.host}/app:1`);
    expect(wrong.stderr).toContain('"a/b/c/d" is no platform');
  });

  it.each([
    ['a file', (tar: Buffer) => tar],
    ['one that is compressed', (tar: Buffer) => gzipSync(tar)],
  ])('come from an archive in %s, and leave in one', async (_, pack) => {
    const podloop = on(await startBox());
    const { layout, id } = aLayout(['docker.io/library/app:1', 'example.test/app:2']);
    const file = join(folder, 'app.tar');
    await writeFile(file, pack(layout.toTar()));
    const loaded = await podloop('load', '-q', '-i', file);
    expect(loaded).toEqual({
      code: 0,
      stdout: 'Loaded image: docker.io/library/app:1\nLoaded image: example.test/app:2\n',
      stderr: '',
    });
    const saved = join(folder, 'saved.tar');
    expect(await podloop('save', '-o', saved, 'app:1', id)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/\.tmp$/));

    const other = on(await startBox('other'), await readFile(saved));
    expect((await other('load')).stdout).toContain('Loaded image: docker.io/library/app:1\n');
    const digest = (await other('images', '--digests', '--no-trunc', 'app')).stdout;
    expect(digest).toContain(id);
    expect(digest).toContain(
      (await podloop('images', '--digests', '--no-trunc', 'app:1')).stdout.match(/sha256:\w+/)![0],
    );
  });

  it('come from an archive of an older docker', async () => {
    const layer = packTar([{ name: 'etc/motd', content: 'hi' }]);
    const digest = new OciLayout().addBlob('', layer).digest;
    const config = {
      architecture: 'amd64',
      os: 'linux',
      config: {},
      rootfs: { type: 'layers', diff_ids: [digest] },
    };
    const manifest = [{ Config: 'c.json', RepoTags: ['old:1'], Layers: ['l/layer.tar'] }];
    const tar = packTar([
      { name: 'manifest.json', content: JSON.stringify(manifest) },
      { name: 'c.json', content: JSON.stringify(config) },
      { name: 'l/layer.tar', content: layer },
    ]);
    const podloop = on(await startBox(), tar);
    expect(await podloop('load', '--platform', 'linux/amd64')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Loaded image: docker.io/library/old:1\n') as string,
    });
    expect((await podloop('save', '-o', join(folder, 'again.tar'), 'old:1')).code).toBe(0);
  });

  it.each([
    ['nothing', '', 'this is no archive of images'],
    ['text', 'hello', 'this is no archive of images'],
    ['a tar without images', packTar([{ name: 'a' }]), 'this is no archive of images'],
    ['xz', Buffer.from('fd377a585a0000', 'hex'), 'compressed by xz'],
    ['half an archive', aLayout(['app:1']).layout.toTar().subarray(0, 3_000), 'archive'],
    ['half of a compressed one', gzipSync(aLayout(['app:1']).layout.toTar()).subarray(0, 200), 'archive'],
  ])('do not come from %s', async (_, bytes, words) => {
    const podloop = on(await startBox(), bytes);
    const { code, stdout, stderr } = await podloop('load');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(words);
    expect(await readdir(join(folder, 'box', 'images', 'records'))).toEqual([]);
  });

  it('cannot be saved, and leave no file, when they are not there or built in', async () => {
    const podloop = on(await startBox());
    const file = join(folder, 'no.tar');
    expect(await podloop('save', '-o', file, 'none:1')).toMatchObject({ code: 1 });
    expect((await podloop('save', '-o', file, 'podloop.local/host')).stderr).toContain('built in');
    expect((await readdir(folder)).filter((name) => name.startsWith('no.tar'))).toEqual([]);
    const nowhere = await podloop('load', '-i', join(folder, 'none.tar'));
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      `error: the path "${folder}/none.tar" does not exist\n`,
    ]);
    const { layout } = aLayout(['app:1']);
    await writeFile(join(folder, 'app.tar'), layout.toTar());
    await podloop('load', '-q', '-i', join(folder, 'app.tar'));
    const { stderr } = await podloop('save', '-o', join(folder, 'none', 'a.tar'), 'app:1');
    expect(stderr).toMatch(/^error: \S+\/none\/a\.tar cannot be written: ENOENT: .* '\S+\/none\/a\.tar'\n$/);
  });

  it('are refused in the words of the runtime, also where a name is like its own words', async () => {
    const layout = new OciLayout();
    const made = layout.addManifest({ layers: [[{ name: 'a' }]] });
    const file = layout
      .toFiles()
      .get(`blobs/${made.manifest.digest.replace(':', '/')}`)!
      .toString('utf8');
    const encrypted = JSON.parse(file.replace('layer.v1.tar', 'layer.v1.tar+encrypted')) as object;
    const names = { 'io.containerd.image.name': 'example.test/some-service:1' };
    layout.addEntry({ ...layout.addJson(made.manifest.mediaType, encrypted), annotations: names });
    const { code, stderr } = await on(await startBox(), layout.toTar())('load', '-q');
    expect([code, stderr]).toEqual([1, expect.stringContaining('is encrypted, which is not supported')]);
  });

  it('show their layers before they are loaded, and name the platforms that an archive has', async () => {
    const layout = new OciLayout();
    const layers = [[{ name: 'a', content: 'a' }]];
    for (const name of ['one', 'two'])
      layout.addImage({ names: [`example.test/${name}:1`], layers: [...layers, [{ name }]] });
    layout.addImage({ names: ['example.test/other:1'], layers, architecture: 's390x' });
    const podloop = on(await startBox(), layout.toTar());
    const { stdout, stderr } = await podloop('load');
    const final = lines(stdout).filter((line) => !/Pulling fs layer$|Download complete$/.test(line));
    expect(final.map((line) => line.replace(/^[0-9a-f]{12}/, 'layer'))).toEqual([
      ...['layer: Pull complete', 'layer: Pull complete', 'Loaded image: example.test/one:1'],
      ...['layer: Pull complete', 'layer: Pull complete', 'Loaded image: example.test/two:1'],
    ]);
    expect(stderr).toMatch(
      /^error: image "example\.test\/other:1" is in the archive, but not for linux\/\w+: it has linux\/s390x\n$/,
    );
  });

  const noSkopeo = spawnSync('skopeo', ['--version']).status === 0 ? '' : ' (skipped: no skopeo here)';
  it.skipIf(noSkopeo !== '')(`are read by skopeo from what is saved${noSkopeo}`, async () => {
    const podloop = on(await startBox());
    const { layout, id } = aLayout(['example.test/app:2']);
    await writeFile(join(folder, 'app.tar'), layout.toTar());
    await podloop('load', '-i', join(folder, 'app.tar'));
    await podloop('save', '-o', join(folder, 'saved.tar'), 'example.test/app:2');
    for (const kind of ['docker-archive', 'oci-archive']) {
      const { stdout, stderr } = spawnSync(
        'skopeo',
        ['--insecure-policy', 'inspect', '--config', '--raw', `${kind}:${folder}/saved.tar`],
        { encoding: 'utf8', env: { ...process.env, TMPDIR: folder } },
      );
      expect(stderr).toBe('');
      expect(new OciLayout().addBlob('', Buffer.from(stdout)).digest).toBe(id);
    }
  });
});

describe('images of any runtime', () => {
  const anImage = (name: string, extra: Partial<Image> = {}): Image =>
    Image.fromPartial({
      id: `sha256:${name}`,
      repoTags: [`example.test/${name}:1`],
      size: 1_500_000n,
      ...extra,
    });
  const images = [
    anImage('used'),
    anImage('ended'),
    anImage('free'),
    anImage('pause', { pinned: true }),
    anImage('dangling', { repoTags: [], repoDigests: ['example.test/dangling@sha256:1'] }),
  ];
  const aContainer = (imageRef: string, state: ContainerState): Container =>
    Container.fromPartial({
      ...{ id: `c-${imageRef}`, imageRef, state, metadata: { name: 'main' } },
      labels: { 'io.kubernetes.pod.namespace': 'default', 'io.kubernetes.pod.name': 'web' },
    });
  let removed: string[];

  async function start(runtimeName = 'containerd'): Promise<string> {
    removed = [];
    const handlers: CriTestServerOptions['handlers'] = {
      version: (_, answer) =>
        answer(null, { version: '1', runtimeName, runtimeVersion: 'v2.1.4', runtimeApiVersion: 'v1' }),
      listImages: (_, answer) => answer(null, { images }),
      imageStatus: ({ request }, answer) => {
        const wanted = request.image!.image;
        const image = images.find(
          ({ id, repoTags }) => !removed.includes(id) && (id === wanted || repoTags.includes(wanted)),
        );
        answer(null, { image, info: {} });
      },
      listContainers: (_, answer) =>
        answer(null, {
          containers: [
            aContainer('sha256:used', ContainerState.CONTAINER_RUNNING),
            aContainer('sha256:ended', ContainerState.CONTAINER_EXITED),
          ],
        }),
      removeImage: ({ request }, answer) => {
        const wanted = request.image!.image;
        removed.push(images.find(({ repoTags }) => repoTags.includes(wanted))?.id ?? wanted);
        answer(null, {});
      },
      pullImage: ({ request }, answer) => answer(null, { imageRef: request.auth?.username ?? 'sha256:free' }),
    };
    return ends.use(await CriTestServer.start({ handlers })).endpoint;
  }

  it('stay while containers use them, with --force while those run', async () => {
    const podloop = on(await start());
    expect(await podloop('rmi', 'example.test/used:1', 'example.test/ended:1')).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        'error: conflict: unable to remove example.test/used:1: it is in use by container "main" of pod default/web',
        'error: conflict: unable to remove example.test/ended:1: it is in use by container "main" of pod default/web (--force removes it)',
        '',
      ].join('\n'),
    });
    expect(removed).toEqual([]);
    expect((await podloop('rmi', '-f', 'example.test/used:1', 'example.test/ended:1')).code).toBe(1);
    expect(removed).toEqual(['sha256:ended']);
  });

  it.each([
    [['prune', '-f'], ['sha256:dangling'], 'Total reclaimed space: 1.5MB\n'],
    [['prune', '-f', '-a'], ['sha256:dangling', 'sha256:free'], 'Total reclaimed space: 3MB\n'],
    [['image', 'prune', '-f'], ['sha256:dangling'], 'Total reclaimed space: 1.5MB\n'],
    [['rmi', '--all'], ['sha256:dangling', 'sha256:free'], ''],
    [['rmi', '-q'], ['sha256:dangling', 'sha256:free'], ''],
  ])('are cleaned up by %j when nobody uses and nobody pins them', async (words, gone, end) => {
    const ran = await on(await start())(...words);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(removed).toEqual(gone);
    expect(ran.stdout.endsWith(end)).toBe(true);
    expect(ran.stdout).toContain('Untagged: example.test/dangling@sha256:1\nDeleted: sha256:dangling\n');
  });

  it.each([
    ['y\n', ['sha256:dangling']],
    ['n\n', []],
    ['', []],
  ])('are cleaned up after a question when the answer is %j', async (answer, gone) => {
    const { code, stdout } = await on(await start(), answer)('prune');
    expect([code, removed]).toEqual([0, gone]);
    expect(stdout).toContain('Are you sure you want to continue? [y/N] ');
  });

  it.each([
    [['--filter', 'dangling=true'], ['dangling']],
    [
      ['-f', 'dangling=false', '-f', 'reference=example.test/*:1'],
      ['ended', 'free', 'pause', 'used'],
    ],
    [
      ['--filter', 'reference=example.test/*e*'],
      ['ended', 'free', 'pause', 'used'],
    ],
    [['--filter', 'reference=example.test/fr?e'], ['free']],
    [['--filter', 'reference=*'], []],
    [['example.test/used', '--filter', 'reference=example.test/free'], []],
  ])('are listed with %j', async (words, names) => {
    const { code, stdout } = await on(await start())('images', '-q', ...words);
    expect([code, stdout.split('\n').filter(Boolean)]).toEqual([0, names.map((name) => `sha256:${name}`)]);
  });

  it('are not listed with a filter that nobody knows', async () => {
    const { code, stderr } = await on(await start())('images', '--filter', 'since=x');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('dangling=true, dangling=false or reference='),
    ]);
  });

  it('are pulled by CRI alone', async () => {
    const podloop = on(await start());
    expect((await podloop('pull', 'example.test/free:1')).stdout).toBe(
      'Status: Image is up to date for example.test/free:1\nexample.test/free:1\n',
    );
    expect((await podloop('pull', '-q', '--creds', 'sha256:used', 'x')).stderr).toBe('');
    expect((await podloop('pull', '--creds', 'nobody', 'x')).stderr).toContain('user:password');
  });

  it.each([
    ['containerd', ['load'], 'ctr -n k8s.io images import'],
    ['cri-o', ['save', '-o', '/dev/null', 'x'], 'skopeo copy containers-storage:'],
    ['containerd', ['pull', '--platform', 'linux/arm64', 'x'], 'images pull --platform'],
    ['other', ['load'], 'the tool of that runtime'],
  ])('of %s need another tool for %j', async (runtimeName, words, tool) => {
    const { code, stderr } = await on(await start(runtimeName))(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining(tool)]);
    expect(lines(stderr)).toHaveLength(1);
  });

  it('are none where there is no runtime', async () => {
    const { code, stderr } = await on(`unix://${folder}/none.sock`)('images');
    expect([code, lines(stderr).length]).toEqual([1, 1]);
  });
});
