import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { isBuildOutOfDate } from './build-state.js';
import { readText, REPOSITORY } from './source-tree.js';

const run = promisify(execFile);

/** What package.json says, as far as tests ask. */
export interface PackageJson {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly resolved?: string;
}

/** package.json of the repository. */
export function readPackageJson(): PackageJson {
  return JSON.parse(readText('package.json')) as PackageJson;
}

/** The packages in package-lock.json by their path below the repository; ours, at '', left out. */
export function readLockedPackages(): ReadonlyMap<string, LockedPackage> {
  const lock = JSON.parse(readText('package-lock.json')) as { packages: Record<string, LockedPackage> };
  return new Map(Object.entries(lock.packages).filter(([place]) => place !== ''));
}

/** The file that an entry is made of, below the repository's folder. */
export function findSource(subpath: string): string {
  const entries = JSON.parse(readText('scripts/library-entries.json')) as Record<string, string>;
  const file = entries[subpath.replace(/^podloop\/?/, '') || 'index'];
  if (file === undefined) throw new Error(`${subpath} is no entry of the package`);
  return `src/${file}.ts`;
}

/** The specifiers that users import: `podloop`, `podloop/cri` … */
export function listSubpaths(): string[] {
  return Object.entries(readPackageJson().exports)
    .filter(([, target]) => typeof target !== 'string')
    .map(([subpath]) => `podloop${subpath.slice(1)}`);
}

/**
 * podloop in the node_modules of a temporary project, as `npm install podloop` would leave it: only the files that
 * are published, beside only the packages that users get.
 */
export class InstalledPackage implements AsyncDisposable {
  /** The project's folder. */
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Builds what is out of date, packs it and unpacks it into a new project. */
  static async create(): Promise<InstalledPackage> {
    if (isBuildOutOfDate()) await run('npm', ['run', '--silent', 'build'], { cwd: REPOSITORY });
    // As folders of users may be called.
    const folder = await mkdtemp(path.join(tmpdir(), 'podloop-installed (1) '));
    const installed = new InstalledPackage(folder);
    try {
      await installed.#install();
    } catch (error) {
      await installed[Symbol.asyncDispose]();
      throw error;
    }
    return installed;
  }

  /** Runs `node` (this one unless told) in the project and answers with what it printed. Rejects when it fails. */
  async node(args: readonly string[], node = process.execPath): Promise<string> {
    const { stdout } = await run(node, [...args], { cwd: this.folder, timeout: 60_000 });
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A runtime that an agent had started for itself ends a moment after it.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 25, retryDelay: 200 });
  }

  async #install(): Promise<void> {
    const modules = path.join(this.folder, 'node_modules');
    const own = path.join(modules, 'podloop');
    await mkdir(own, { recursive: true });
    // Without scripts: they would build a second time.
    const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', this.folder];
    await run('npm', pack, { cwd: REPOSITORY });
    const tarball = path.join(this.folder, `podloop-${readPackageJson().version}.tgz`);
    await run('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
    for (const [place, { dev }] of readLockedPackages()) {
      // What is deeper comes with the package that it is in.
      const isNested = place.indexOf('node_modules/', 1) !== -1;
      const source = path.join(REPOSITORY, place);
      // Users of the types need Node's; they have them, whether or not we ask for them.
      const isWanted =
        dev !== true || place === 'node_modules/@types/node' || place === 'node_modules/undici-types';
      if (isNested || !isWanted || !existsSync(source)) continue;
      const target = path.join(this.folder, place);
      await mkdir(path.dirname(target), { recursive: true });
      await symlink(source, target, 'dir');
    }
  }
}

/** The code in the @module comment of each subpath's entry, as it would stand in a file of its own. */
export function readModuleExamples(): ReadonlyMap<string, string> {
  const examples = new Map<string, string>();
  for (const subpath of listSubpaths()) {
    const comment = /^\/\*\*([^]*?)\*\//.exec(readText(findSource(subpath)))?.[1] ?? '';
    const code = /```ts\n([^]*?)```/.exec(comment.replace(/^ \* ?/gm, ''))?.[1];
    if (code !== undefined) examples.set(subpath, code);
  }
  return examples;
}
