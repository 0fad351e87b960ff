/** Images as people use them: pulled from a real registry by manifests as people write them, used, and ended by their signal. */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { PodloopProcess } from '../integration/podloop-process.js';
import { untilNobodyNames } from '../integration/processes-naming.js';
import { recordResult } from '../integration/results-page.js';
import { type BuiltImage, DebianImages, findImagesCache } from './debian-images.js';
import { DebianRegistry } from './debian-registry.js';
import { IMAGE_RECIPES, type ImageRecipe } from './image-recipes.js';

const MISSING = ['mmdebstrap', 'apt-get', 'dpkg-deb'].filter(
  (program) => spawnSync(program, ['--version']).error !== undefined,
);
const isRoot = process.getuid?.() === 0;
const only = process.env['PODLOOP_IMAGES']?.split(',');
const recipes = IMAGE_RECIPES.filter(({ name }) => only?.includes(name) ?? true);

interface KubePod {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly imageID: string }[];
  };
}

let folder: string;
let registry: DebianRegistry;
let agent: PodloopProcess;
let api: LocalApiClient;
/** What was made so far, to be ended in reverse order. */
const endings = new DisposalStack();
const built = new Map<string, BuiltImage>();
const results: Record<string, string> = {};

/** What a test does with its pod. */
class RunningPod {
  readonly name: string;
  readonly ip: string;

  constructor({ metadata, status }: KubePod) {
    this.name = metadata.name;
    this.ip = status.podIP ?? '';
  }

  /** What a command in the container prints; rejects unless it succeeds. */
  async exec(...command: string[]): Promise<string> {
    const query = new URLSearchParams([
      ...command.map((word): [string, string] => ['command', word]),
      ...[['stdout', 'true'] as [string, string], ['stderr', 'true'] as [string, string]],
    ]);
    const path = `/api/v1/namespaces/default/pods/${this.name}/exec?${query.toString()}`;
    const { stdout, stderr, status } = await api.stream(path, ['v5.channel.k8s.io']);
    if (status.status !== 'Success') throw new Error(`${command.join(' ')}: ${stdout}${stderr}`);
    return stdout.trim();
  }

  async log(): Promise<string> {
    return (await api.ask(`/api/v1/namespaces/default/pods/${this.name}/log`)).text;
  }

  async get(port: number, path = '/'): Promise<string> {
    return (await fetch(`http://${this.ip}:${port}${path}`)).text();
  }

  /** As whom its first process runs. */
  async user(): Promise<string> {
    return this.exec('stat', '-c', '%U', '/proc/1');
  }
}

/** What each image does for its users. */
const CHECKS: Readonly<Record<string, (pod: RunningPod) => Promise<void>>> = {
  busybox: async (pod) => {
    for (const line of ['prepared', 'nobody there'])
      await expect.poll(async () => (await pod.log()).split('\n'), { timeout: 600_000 }).toContain(line);
  },
  nginx: async (pod) => {
    expect(await pod.get(80)).toContain('hello from a ConfigMap');
    // Its log is a link to its standard output.
    await expect.poll(() => pod.log()).toContain('"GET / HTTP/1.1" 200');
  },
  httpd: async (pod) => {
    expect(await pod.get(80)).toBe('It works!\n');
    expect(await pod.exec('pwd')).toBe('/usr/local/apache2');
  },
  redis: async (pod) => {
    expect(await pod.exec('redis-cli', 'set', 'a', 'b')).toBe('OK');
    expect(await pod.exec('redis-cli', 'get', 'a')).toBe('b');
    expect(await pod.user()).toBe('redis');
    // Its volume is writable over a root that is not.
    expect(await pod.exec('stat', '-c', '%U', '/data', '/data/appendonlydir')).toBe('redis\nredis');
  },
  memcached: async (pod) => expect(await pod.exec('stat', '-c', '%u', '/proc/1')).toBe('11211'),
  postgres: async (pod) => {
    expect(await pod.exec('psql', '-U', 'postgres', '-tAc', 'select 40 + 2')).toBe('42');
    const query = `PGPASSWORD="$POSTGRES_PASSWORD" psql -h ${pod.ip} -U postgres -tAc "select 'by password'"`;
    expect(await pod.exec('sh', '-c', query)).toBe('by password');
    expect(await pod.user()).toBe('postgres');
  },
  mariadb: async (pod) => {
    const query = 'mariadb -uroot -p"$MARIADB_ROOT_PASSWORD" -Ne "select 40 + 2"';
    expect(await pod.exec('sh', '-c', query)).toBe('42');
    expect(await pod.exec('stat', '-c', '%U', '/var/lib/mysql')).toBe('mysql');
  },
  node: async (pod) => expect(await pod.get(8080)).toBe('hello from node as 1000'),
  python: async (pod) => expect(await pod.get(8000, '/hostname')).toBe('python-test\n'),
  php: async (pod) => expect(await pod.get(8080)).toBe('hello from php it is'),
  rabbitmq: async (pod) => expect(await pod.user()).toBe('rabbitmq'),
  // Its pod counts as ready from the start of its container on.
  openjdk: async (pod) => {
    await expect.poll(() => pod.log(), { timeout: 600_000 }).toMatch(/^hello from java, \d+ processors\n$/);
  },
};

describe.skipIf(MISSING.length > 0 || !isRoot)(
  `images of Debian's packages (needs root${MISSING.map((name) => `, no ${name} here`).join('')})`,
  () => {
    beforeAll(async () => {
      const cache = findImagesCache(process.env);
      const images = await DebianImages.open(cache);
      folder = await mkdtemp(join(tmpdir(), 'podloop-images-'));
      endings.defer(() => rm(folder, { recursive: true, force: true }));
      registry = endings.use(await DebianRegistry.start(join(folder, 'registry'), cache));
      for (const recipe of recipes) {
        const image = await images.build(recipe);
        built.set(recipe.name, image);
        await registry.push(image);
      }
      await mkdir(join(folder, 'pods'));
      agent = new PodloopProcess([
        ...['run', join(folder, 'pods'), '--root-dir', join(folder, 'node'), '--node-name', 'test'],
        ...['--pod-logs-dir', join(folder, 'logs'), '--runtime-endpoint', 'embedded', '--stop-pods'],
        ...['--registry-config-path', join(folder, 'certs.d')],
      ]);
      endings.defer(async () => {
        await agent.end('SIGTERM');
        await untilNobodyNames(join(folder, 'node'), 300_000);
      });
      await agent.line('stderr', /Started node agent/);
      api = new LocalApiClient(join(folder, 'node/podloop.sock'));
    }, 3_600_000);

    afterAll(async () => {
      await endings[Symbol.asyncDispose]();
      // Nothing was tried where the setup has failed.
      if (Object.keys(results).length === 0) return;
      await recordResult(
        'images',
        'Images as people use them',
        {
          name: 'Images with the settings of the official ones, from a registry',
          what: 'Made of Debian’s packages with USER, VOLUME, ENTRYPOINT, CMD, STOPSIGNAL and HEALTHCHECK as Docker’s official images of these names have them, pulled from docker-registry by the manifests in test/images, used, and ended.',
          values: results,
        },
        'npm run test:images',
      );
    });

    it.each(recipes)('$name is pulled, does its work, and ends as it is asked to', async (recipe) => {
      const { name } = recipe;
      results[name] = 'FAILED';
      const file = join(folder, 'pods', `${name}.yaml`);
      const source = fileURLToPath(new URL(`manifests/${name}.yaml`, import.meta.url));
      const began = performance.now();
      await writeFile(
        file,
        (await readFile(source, 'utf8')).replaceAll('registry.test/', `${registry.host}/`),
      );
      const pod = await untilUp(recipe);
      const seconds = (performance.now() - began) / 1_000;
      await CHECKS[name]!(new RunningPod(pod));
      expect(pod.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
      await rm(file);
      // One that does not understand its signal would stay for the ten minutes that it is given.
      await expect.poll(() => findPod(name), { timeout: 240_000 }).toBeUndefined();
      const layers = built.get(name)!.layers.slice(1);
      const megabytes = layers.reduce((sum, { size }) => sum + size, 0) / 1e6;
      results[name] =
        `passed: ${seconds.toFixed(1)} s from the manifest to its work, ${megabytes.toFixed(0)} MB above the base`;
    });
  },
);

async function findPod(name: string): Promise<KubePod | undefined> {
  const { items } = (await api.json('/api/v1/namespaces/default/pods')) as { items: readonly KubePod[] };
  return items.find(({ metadata }) => metadata.name.startsWith(`${name}-`));
}

/** Ready, or done where it is a job. */
async function untilUp({ name }: ImageRecipe): Promise<KubePod> {
  let pod: KubePod | undefined;
  const state = async (): Promise<string> => {
    pod = await findPod(name);
    const { phase = 'not there', conditions = [] } = pod?.status ?? {};
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    return isReady ? 'up' : phase === 'Succeeded' ? 'up' : JSON.stringify(pod?.status ?? phase);
  };
  // On a machine that others keep busy it takes minutes to unpack an image.
  await expect.poll(state, { timeout: 900_000, interval: 500 }).toBe('up');
  return pod!;
}
