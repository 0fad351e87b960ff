import { spawn, type ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isBuildOutOfDate } from '../build-state.js';
import { type EmbeddedNode, until } from './embedded-node.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = ['src/box', 'src/base', 'src/watch/cri/generated', 'src/cli'];

/** The command `podloop runtime`: of the build if that is up to date, else compiled into a folder of its own. */
export class RuntimeProgram implements AsyncDisposable {
  /** The file that Node runs. */
  readonly main: string;
  readonly #folder: string | undefined;
  readonly #children: ChildProcess[] = [];

  private constructor(main: string, folder?: string) {
    this.main = main;
    this.#folder = folder;
  }

  static async build(): Promise<RuntimeProgram> {
    if (!isBuildOutOfDate()) return new RuntimeProgram(findProgram());
    const { default: ts } = await import('typescript');
    // Inside of the project, so that its packages are found.
    const cache = join(PROJECT, 'node_modules', '.cache');
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, 'podloop-runtime-'));
    for (const part of PARTS) {
      for (const source of await sourcesIn(join(PROJECT, part))) {
        const target = join(folder, 'dist', relative(join(PROJECT, 'src'), source)).replace(/\.ts$/, '.js');
        await mkdir(dirname(target), { recursive: true });
        const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
        const { outputText } = ts.transpileModule(await readFile(source, 'utf8'), {
          compilerOptions: options,
        });
        await writeFile(target, outputText);
      }
    }
    await copyFile(join(PROJECT, 'package.json'), join(folder, 'package.json'));
    return new RuntimeProgram(join(folder, 'dist/cli/main.js'), folder);
  }

  /** Starts it for a node and resolves once it answers. */
  async start(node: EmbeddedNode, ...args: string[]): Promise<ChildProcess> {
    const child = this.spawn(...node.args, ...args);
    await until(
      () => {
        if (child.exitCode !== null) throw new Error(`podloop runtime ended with ${child.exitCode}`);
        return node.client.version({}).catch(() => undefined);
      },
      (answer) => answer !== undefined,
    );
    return child;
  }

  /** The command line of `podloop`, to which a command is added. */
  get commandLine(): readonly string[] {
    return [process.execPath, this.main];
  }

  /** Starts it with these arguments. */
  spawn(...args: string[]): ChildProcess {
    const [node = '', main = ''] = this.commandLine;
    const child = spawn(node, [main, 'runtime', ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await end(child, 'SIGKILL');
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Sends a signal and waits for the end; the exit code, or null after a signal. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return exited;
}

async function sourcesIn(path: string): Promise<string[]> {
  if (path.endsWith('.ts')) return [path];
  const entries = await readdir(path, { recursive: true });
  return entries
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(path, name));
}
