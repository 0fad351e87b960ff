import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamSource } from '#base/wire/tar/byte-source.js';
import { type UnpackReport } from '../../../src/box/images/archive/entry-writer.js';
import { RootBuilder } from '../../../src/box/images/root-builder.js';
import { readTar } from '#base/wire/tar/tar-reader.js';
import { UNPACK_LIMITS, type UnpackLimits } from '../../../src/box/images/archive/unpack-limits.js';
import { packTar, type TarMember } from '../builders/pack-tar.js';

/** Whether tests may make owners and devices. */
export const IS_ROOT = process.getuid?.() === 0;

/** How a test wants its layers unpacked. */
export interface RootLabSettings {
  readonly privileged?: boolean;
  readonly limits?: Partial<UnpackLimits>;
  readonly signal?: AbortSignal;
}

/** A folder to unpack layers into, beside one that nobody may touch. */
export class RootHarness implements AsyncDisposable {
  /** Holds the root and `outside/precious`. */
  readonly folder: string;
  readonly root: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.root = join(folder, 'root');
  }

  static async make(): Promise<RootHarness> {
    const lab = new RootHarness(await mkdtemp(join(tmpdir(), 'podloop-root-')));
    await mkdir(lab.root);
    await mkdir(join(lab.folder, 'outside'));
    await writeFile(lab.#precious, 'precious', { mode: 0o600 });
    return lab;
  }

  /** Unpacks layers one over the other, each given as members or as an archive as it is. */
  async unpack(
    layers: readonly (readonly TarMember[] | Buffer)[],
    settings: RootLabSettings = {},
  ): Promise<UnpackReport> {
    const { privileged = IS_ROOT, limits, signal = new AbortController().signal } = settings;
    const { root } = this;
    const builder = new RootBuilder({ root, privileged, limits: { ...UNPACK_LIMITS, ...limits }, signal });
    for (const layer of layers) {
      const archive = Buffer.isBuffer(layer) ? layer : packTar(layer);
      await builder.addLayer(readTar(new StreamSource(inOne(archive))));
    }
    return builder.finish();
  }

  /** Every path in the root with what is there: `/` for a folder, `-> target` for a link, the text of a file. */
  async tree(): Promise<Record<string, string>> {
    const names = await listBelow(this.root);
    const entries = await Promise.all(
      names.map(async (name) => {
        const path = join(this.root, name);
        const facts = await lstat(path);
        if (facts.isDirectory()) return [name, '/'];
        if (facts.isSymbolicLink()) return [name, `-> ${await readlink(path)}`];
        return [name, facts.isFile() ? await readFile(path, 'utf8') : '?'];
      }),
    );
    return Object.fromEntries(entries) as Record<string, string>;
  }

  /** What there is beside the root: {@link NOTHING_OUTSIDE}, unless an archive has led out. */
  async lookOutside(): Promise<readonly string[]> {
    const beside = (await listBelow(this.folder)).filter((name) => !/^root(\/|$)/.test(name));
    const { mode, uid } = await lstat(this.#precious);
    const facts = `${(mode & 0o7777).toString(8)} ${uid === process.getuid?.() ? 'ours' : uid}`;
    return [...beside, `${await readFile(this.#precious, 'utf8')} ${facts}`];
  }

  get #precious(): string {
    return join(this.folder, 'outside', 'precious');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Of {@link RootHarness.lookOutside}, when all is well. */
export const NOTHING_OUTSIDE = ['outside', 'outside/precious', 'precious 600 ours'];

async function* inOne(archive: Buffer): AsyncGenerator<Buffer> {
  yield archive;
}

/** Every path below a folder; readdir's own recursion would follow links. */
async function listBelow(top: string): Promise<string[]> {
  const entries = await readdir(top, { withFileTypes: true });
  const below = entries.map(async (entry) => {
    const inside = entry.isDirectory() ? await listBelow(join(top, entry.name)) : [];
    return [entry.name, ...inside.map((name) => `${entry.name}/${name}`)];
  });
  return (await Promise.all(below)).flat().sort();
}
