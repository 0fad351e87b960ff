import { spawn, type ChildProcess } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { toCgroupPrefix } from '../../src/box/cgroups/cgroups.js';
import { type EmbeddedNode, until } from './embedded-node.js';
import { end, type RuntimeProgram } from './embedded-process.js';

/** What there is inside of an enclosure, but for the runtime itself. */
export interface EnclosureFacts {
  /** The command lines of all processes besides the runtime and its reaper. */
  readonly processes: readonly string[];
  readonly mounts: readonly string[];
  /** How many distinct namespaces processes are in. */
  readonly namespaces: number;
  readonly interfaces: readonly string[];
  readonly cgroups: readonly string[];
  /** Open file descriptors of the runtime. */
  readonly openFiles: number;
  /** Resident memory of the runtime. */
  readonly runtimeBytes: number;
  /** Memory of everything inside, pages that are shared counted once. */
  readonly allBytes: number;
  /** What the whole machine has left, the kernel's own memory counted: others use it, too. */
  readonly machineAvailableBytes: number;
}

const NAMESPACES = ['mnt', 'net', 'pid', 'ipc', 'uts', 'cgroup', 'user'];

/**
 * `podloop runtime` in pid, mount and network namespaces of its own, so that everything that it makes can be counted
 * to the last: nobody else is in there. A shell is the first process; it reaps orphans and starts the runtime again
 * when it was killed. Needs root.
 */
export class RuntimeEnclosure implements AsyncDisposable {
  readonly #node: EmbeddedNode;
  readonly #shell: ChildProcess;

  private constructor(node: EmbeddedNode, shell: ChildProcess) {
    this.#node = node;
    this.#shell = shell;
  }

  static async start(program: RuntimeProgram, node: EmbeddedNode): Promise<RuntimeEnclosure> {
    const script = 'ip link set lo up; while :; do "$@" </dev/null; sleep 0.1; done';
    const own = ['--fork', '--pid', '--mount-proc', '--net', '--kill-child=SIGKILL'];
    const words = [...own, 'sh', '-c', script, 'sh', ...program.commandLine, 'runtime', ...node.args];
    const shell = spawn('unshare', words, { stdio: 'ignore' });
    const enclosure = new RuntimeEnclosure(node, shell);
    await enclosure.answers();
    return enclosure;
  }

  /** Resolves once the runtime answers. */
  async answers(): Promise<void> {
    await until(
      () => {
        if (this.#shell.exitCode !== null)
          throw new Error(`the enclosure ended with ${this.#shell.exitCode}`);
        return this.#node.client.version({}).catch(() => undefined);
      },
      (answer) => answer !== undefined,
    );
  }

  /** Kills the runtime without warning; it is started again by itself. */
  async killRuntime(): Promise<void> {
    const { pid } = await this.#findRuntime();
    process.kill(pid, 'SIGKILL');
    await until(
      () => this.#findRuntime().catch(() => ({ pid })),
      (found) => found.pid !== pid,
    );
    await this.answers();
  }

  async facts(): Promise<EnclosureFacts> {
    const { shell, pid } = await this.#findRuntime();
    const proc = `/proc/${shell}/root/proc`;
    const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
    const commands = new Map<string, string>();
    const namespaces = new Set<string>();
    let allBytes = 0;
    for (const each of pids) {
      const words = await read(`${proc}/${each}/cmdline`);
      const name = await read(`${proc}/${each}/comm`);
      commands.set(each, words.replaceAll('\0', ' ').trim() || `[${name.trim()}]`);
      allBytes += toBytes(/^Pss:\s+(\d+) kB/m.exec(await read(`${proc}/${each}/smaps_rollup`))?.[1]);
      for (const kind of NAMESPACES) {
        namespaces.add(await readlink(`${proc}/${each}/ns/${kind}`).catch(() => ''));
      }
    }
    namespaces.delete('');
    const runtimePid = /^NSpid:.*\t(\d+)$/m.exec(await read(`/proc/${pid}/status`))?.[1] ?? '';
    // The shell and the runtime; what the runtime has started for the moment does not stay.
    for (const own of ['1', runtimePid]) commands.delete(own);
    const mounts = (await read(`/proc/${shell}/mountinfo`)).split('\n').filter((line) => line !== '');
    const interfaces = (await read(`/proc/${shell}/net/dev`)).match(/^\s*[^\s:|]+(?=:)/gm) ?? [];
    return {
      processes: [...commands.values()].sort(),
      mounts: mounts.map((line) => line.split(' ')[4] ?? '').sort(),
      namespaces: namespaces.size,
      interfaces: interfaces.map((name) => name.trim()).sort(),
      cgroups: await this.#listCgroups(),
      openFiles: (await readdir(`/proc/${pid}/fd`)).length,
      runtimeBytes: toBytes(/^VmRSS:\s+(\d+) kB/m.exec(await read(`/proc/${pid}/status`))?.[1]),
      allBytes,
      machineAvailableBytes: toBytes(/^MemAvailable:\s+(\d+) kB/m.exec(await read('/proc/meminfo'))?.[1]),
    };
  }

  /** Ends everything inside, pods too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#shell, 'SIGKILL');
  }

  /** The host's pids of the first process inside and of the runtime. */
  async #findRuntime(): Promise<{ readonly shell: number; readonly pid: number }> {
    const [shell] = await childrenOf(this.#shell.pid ?? 0);
    if (shell === undefined) throw new Error('the enclosure has ended');
    for (const pid of await childrenOf(shell)) {
      const words = await read(`/proc/${pid}/cmdline`);
      if (words.includes('\0runtime\0') && words.includes(this.#node.root)) return { shell, pid };
    }
    throw new Error('the runtime does not run');
  }

  async #listCgroups(): Promise<readonly string[]> {
    const prefix = toCgroupPrefix(this.#node.root);
    const trees = (await read('/proc/self/mountinfo')).match(/^.* - cgroup2? .*$/gm) ?? [];
    const found: string[] = [];
    for (const tree of trees.map((line) => join(line.split(' ')[4] ?? '', 'podloop'))) {
      const pods = (await readdir(tree).catch(() => [])).filter((name) => name.startsWith(`${prefix}-`));
      for (const pod of pods) {
        const below = await readdir(join(tree, pod), { withFileTypes: true }).catch(() => []);
        const containers = below.filter((entry) => entry.isDirectory());
        found.push(join(tree, pod), ...containers.map(({ name }) => join(tree, pod, name)));
      }
    }
    return found;
  }
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  return (await read(`/proc/${pid}/task/${pid}/children`)).split(' ').filter(Boolean).map(Number);
}

async function read(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}

function toBytes(kib = '0'): number {
  return Number(kib) * 1024;
}
