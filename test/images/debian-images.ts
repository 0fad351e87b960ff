/**
 * Makes the images of the recipes: a base of Debian's essential packages, and a layer above it for each image.
 *
 * In: root, mmdebstrap, overlayfs and an apt that works. Out: layers and configs, as files in a cache outside of the
 * repository, made once for each recipe. The packages come with the machine's own apt, from the release that it has.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { findMirrors } from '../machine/node-image.js';
import { type ImageRecipe } from './image-recipes.js';

/** A layer in the cache. */
export interface BuiltLayer {
  readonly file: string;
  readonly digest: string;
  readonly diffId: string;
  readonly size: number;
}

/** An image in the cache, and its config as it is stored. */
export interface BuiltImage {
  readonly name: string;
  readonly config: string;
  readonly layers: readonly BuiltLayer[];
}

const execute = promisify(execFile);
const LIMIT_MS = 20 * 60_000;
/** Raised whenever something else than the recipes changes what lies in an image. */
const LAYOUT = 1;
const PROGRAMS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** What no image needs, and what differs each time. */
const USELESS =
  'rm -rf /usr/share/doc/* /usr/share/man/* /usr/share/locale/* /var/cache/apt/* /var/lib/apt/lists/* /var/log/*.log /var/log/apt /var/cache/debconf/*-old';

/** `PODLOOP_IMAGES_CACHE`, else a folder in the user's cache. */
export function findImagesCache(env: NodeJS.ProcessEnv): string {
  const caches = env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return env['PODLOOP_IMAGES_CACHE'] ?? join(caches, 'podloop-images');
}

/** Builds images into a cache. */
export class DebianImages {
  readonly #cache: string;
  readonly #release: string;

  private constructor(cache: string, release: string) {
    this.#cache = cache;
    this.#release = release;
  }

  static async open(cache: string): Promise<DebianImages> {
    await mkdir(join(cache, 'debs', 'partial'), { recursive: true });
    const release = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
    if (release === undefined) throw new Error('the name of this Debian release is not in /etc/os-release');
    return new DebianImages(cache, release);
  }

  /** From the cache, or made now. */
  async build(recipe: ImageRecipe): Promise<BuiltImage> {
    const base = await this.#layer('base', {}, (staging) => this.#makeBase(staging));
    const { name, config, ...made } = recipe;
    const own = await this.#layer(name, { base: base.diffId, made }, (staging) =>
      this.#makeOwn(recipe, base, staging),
    );
    const layers = [base, own];
    const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
    return {
      ...{ name, layers },
      config: JSON.stringify({
        ...{ architecture, os: 'linux', config },
        rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      }),
    };
  }

  /** `make` leaves `layer.tar` in the folder that it is given. */
  async #layer(name: string, of: object, make: (staging: string) => Promise<void>): Promise<BuiltLayer> {
    const text = JSON.stringify({ LAYOUT, release: this.#release, ...of });
    const key = createHash('sha256').update(text).digest('hex').slice(0, 12);
    const place = join(this.#cache, `${name}-${key}`);
    const file = join(place, 'layer.tar.gz');
    const facts = join(place, 'facts.json');
    const known = await readFile(facts, 'utf8').catch(() => undefined);
    if (known !== undefined) return JSON.parse(known) as BuiltLayer;
    const staging = await mkdtemp(join(this.#cache, 'new-'));
    try {
      await make(staging);
      const diffId = await digestOf(join(staging, 'layer.tar'));
      await run('gzip', ['-6', join(staging, 'layer.tar')]);
      const made = join(staging, 'layer.tar.gz');
      const layer = { file, diffId, digest: await digestOf(made), size: (await stat(made)).size };
      await rm(place, { recursive: true, force: true });
      await mkdir(place);
      await rename(made, file);
      await writeFile(facts, JSON.stringify(layer));
      return layer;
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  async #makeBase(staging: string): Promise<void> {
    const failures: string[] = [];
    const tar = join(staging, 'layer.tar');
    for (const mirror of await findMirrors()) {
      const source = `deb [signed-by=${KEYRING}] ${mirror} ${this.#release} main`;
      // Nothing is started while packages are installed above it.
      const refuse = `printf '#!/bin/sh\\nexit 101\\n' > "$1/usr/sbin/policy-rc.d"; chmod 755 "$1/usr/sbin/policy-rc.d"`;
      const hooks = [`--customize-hook=${refuse}`, `--customize-hook=chroot "$1" sh -c '${USELESS}'`];
      try {
        await run('mmdebstrap', [
          ...['--mode=root', '--variant=minbase', ...hooks, this.#release, tar, source],
        ]);
        return;
      } catch (error) {
        failures.push(String((error as { stderr?: string }).stderr ?? error).slice(-1_000));
        await rm(tar, { force: true });
      }
    }
    throw new Error(`Debian ${this.#release} could not be installed into a folder:\n${failures.join('\n')}`);
  }

  async #makeOwn(recipe: ImageRecipe, base: BuiltLayer, staging: string): Promise<void> {
    const at = (name: string): string => join(staging, name);
    for (const name of ['lower', 'upper', 'work', 'root']) await mkdir(at(name));
    await run('tar', ['-xzf', base.file, '-C', at('lower'), '--numeric-owner']);
    const options = `lowerdir=${at('lower')},upperdir=${at('upper')},workdir=${at('work')}`;
    await run('mount', ['-t', 'overlay', '-o', options, 'podloop-test', at('root')]);
    try {
      await this.#install(recipe, at('root'));
    } finally {
      await run('umount', [at('root')]);
    }
    // What a layer takes away is a device in overlayfs, and a file of its own name in an image.
    const marks = `find "$1" -type c -exec sh -c 'test "$(stat -c %t:%T "$1")" = 0:0 || exit 0; rm "$1"; : > "\${1%/*}/.wh.\${1##*/}"' _ {} \\;`;
    await run('sh', ['-c', marks, '_', at('upper')]);
    await run('tar', ['-cf', at('layer.tar'), '--numeric-owner', '--sort=name', '-C', at('upper'), '.']);
  }

  async #install(recipe: ImageRecipe, root: string): Promise<void> {
    const { packages, before, after, files = {} } = recipe;
    const archives = join(root, 'var/cache/apt/archives');
    await mkdir(archives, { recursive: true });
    {
      await using mounts = new DisposalStack();
      const mount = async (to: string, ...what: string[]): Promise<void> => {
        await run('mount', [...what, to]);
        mounts.defer(() => run('umount', [to]));
      };
      await mount(archives, '--bind', join(this.#cache, 'debs'));
      // A JDK cannot be configured without it.
      await mount(join(root, 'proc'), '-t', 'proc', 'proc');
      if (before !== undefined) await inside(root, before);
      const own = [
        ...['-q', '-y', '--no-install-recommends', '-o', 'APT::Sandbox::User=root'],
        ...['-o', `Dir::State::status=${root}/var/lib/dpkg/status`],
        ...['-o', `Dir::State::extended_states=${root}/var/lib/apt/extended_states`],
        ...['-o', `Dir::Cache::archives=${archives}`, '-o', 'APT::Keep-Downloaded-Packages=true'],
      ];
      await run('apt-get', [...own, '--download-only', 'install', ...packages]);
      // Without the hooks of this machine.
      const apart = ['-o', 'Dir::Etc::parts=/var/empty', '-o', `DPkg::Chroot-Directory=${root}`];
      const unsafe = ['-o', 'DPkg::Options::=--force-unsafe-io', '--no-download'];
      await run('apt-get', [...own, ...apart, ...unsafe, 'install', ...packages]);
    }
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content, { mode: path.includes('/bin/') ? 0o755 : 0o644 });
    }
    await inside(root, ['set -e', after ?? ':', USELESS].join('\n'));
  }
}

async function inside(root: string, script: string): Promise<void> {
  await run('chroot', [root, 'sh', '-ec', script]);
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { HOME = '/root' } = process.env;
  const env = { ...process.env, HOME, PATH: PROGRAMS, LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' };
  await execute(program, [...args], { env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 });
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}
