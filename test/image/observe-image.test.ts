/**
 * The image that `scripts/image/make-image.sh` makes from Debian's packages: it is the same twice, and an observer runs from it in the
 * runtime in the box.
 *
 * It needs root, Debian's archive, mmdebstrap and umoci, and some minutes: `npm run test:image`, with the package in PODLOOP_DEB.
 *
 * @module
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedNode } from '../integration/embedded-node.js';
import { PodloopProcess, runPodloop } from '../integration/podloop-process.js';

const run = promisify(execFile);
const DEB = process.env['PODLOOP_DEB'];
const SCRIPT = fileURLToPath(new URL('../../scripts/image/make-image.sh', import.meta.url));
const isThere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;
const canRun = DEB !== undefined && process.getuid?.() === 0 && isThere('mmdebstrap') && isThere('umoci');
const MAKE_MS = 1_200_000;

describe.skipIf(!canRun)('the image of podloop', { timeout: MAKE_MS * 2 }, () => {
  let folder: string;
  let image: string;

  /** Makes it into a folder of that name; what it prints: the name with its tag, and the digest. */
  const make = async (name: string): Promise<readonly string[]> => {
    const { stdout } = await run('sh', [SCRIPT, DEB!, join(folder, name)], {
      timeout: MAKE_MS,
      maxBuffer: 2 ** 26,
    });
    return stdout.trim().split('\n').at(-1)!.split(' ');
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-image-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('is the same when it is made again', async () => {
    const [name, digest] = await make('one');
    image = name!.replace(/^.*:/, '');
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await make('two'))[1]).toBe(digest);
  });

  it('runs podloop observe in the runtime in the box', async () => {
    const archive = join(folder, 'image.tar');
    await run('tar', ['-cf', archive, '-C', join(folder, 'one'), '.']);
    await using node = await EmbeddedNode.prepare({ isolation: 'namespaces', network: 'host' });
    await using runtime = new PodloopProcess(['runtime', ...node.args]);
    await runtime.line('stderr', /istening/);
    const loaded = await runPodloop(['load', '-i', archive, '--runtime-endpoint', node.listen]);
    expect(loaded).toMatchObject({ code: 0 });
    const { images } = await node.client.listImages({});
    const [found] = images.filter(({ repoTags }) => repoTags.some((tag) => tag.endsWith(`:${image}`)));
    expect(found).toBeDefined();
    const { id } = found!;
    await mkdir(node.logs, { recursive: true });
    const sandbox = await node.runPod('observe');
    await node.run(sandbox, 'observe', '', {
      image: { image: id },
      command: ['podloop', 'observe', '--root-dir', '/tmp/observe', '--metrics-bind-address', '0'],
      args: ['--runtime-endpoint', 'unix:///nobody.sock', '--kubelet-url', '', '--healthz-url', ''],
      logPath: 'observe.log',
    });
    await expect.poll(() => node.log('observe'), { timeout: 60_000 }).toMatch(/"Starting to listen" socket/);
    await node.client.stopPodSandbox({ podSandboxId: sandbox });
  });
});
