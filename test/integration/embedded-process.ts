import { spawn, type ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { type EmbeddedNode, until } from './embedded-node.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PARTS = ['src/embedded', 'src/spdy', 'src/util', 'src/cri/generated', 'src/cli'];

/** The command `podloop runtime` built into a folder of its own, so that the test needs no build before it. */
export class RuntimeProgram implements AsyncDisposable {
  readonly #folder: string;
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async build(): Promise<RuntimeProgram> {
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
    return new RuntimeProgram(folder);
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
    return [process.execPath, join(this.#folder, 'dist/cli/main.js')];
  }

  /** The file that Node runs. */
  get main(): string {
    return join(this.#folder, 'dist/cli/main.js');
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
    await rm(this.#folder, { recursive: true, force: true });
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
