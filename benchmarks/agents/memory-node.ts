import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryRuntime } from '../../test/integration/scale/memory-runtime.js';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { makeRunFolder } from '../run-folder.js';
import { withDeadline } from '../with-deadline.js';
import { BenchProcess, type BenchProcessOptions } from './bench-process.js';

/** By its flag, and in a cluster by its credentials. */
export const MEMORY_NODE_NAME = 'bench';
/** That an agent takes. */
export const MAX_PODS = 1_000;
const POLL_MS = 20;
/** Pods of which a runtime in memory has not all by then will not come. */
const RUNNING_MS = 300_000;

/**
 * A runtime in the memory of this process, a folder of manifests, and what runs on them in processes of their own:
 * what the runtime costs is not theirs.
 */
export class MemoryNode implements AsyncDisposable {
  readonly runtime: MemoryRuntime;
  readonly #folder: string;
  readonly #processes: BenchProcess[] = [];

  static async start(): Promise<MemoryNode> {
    const folder = await makeRunFolder('memory');
    await mkdir(path.join(folder, 'manifests'));
    return new MemoryNode(folder, await MemoryRuntime.start());
  }

  private constructor(folder: string, runtime: MemoryRuntime) {
    this.#folder = folder;
    this.runtime = runtime;
  }

  /** For files of a benchmark; goes with the node. */
  get folder(): string {
    return this.#folder;
  }

  /** Of the agent. */
  get socketPath(): string {
    return path.join(this.#folder, 'root', 'podloop.sock');
  }

  async writeManifests(count: number): Promise<void> {
    for (let at = 0; at < count; at++) await this.writeManifest(`pod-${String(at).padStart(4, '0')}`);
  }

  /** Moves the manifest of a pod of one container into the folder, whole; tells when, by `performance.now()`. */
  async writeManifest(name: string): Promise<number> {
    const containers = [{ name: 'main', image: 'registry.test/app:1', imagePullPolicy: 'IfNotPresent' }];
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers } };
    const temporary = path.join(this.#folder, `${name}.json`);
    await writeFile(temporary, JSON.stringify(manifest));
    const movedMs = performance.now();
    await rename(temporary, path.join(this.#folder, 'manifests', `${name}.json`));
    return movedMs;
  }

  /** Every option as it is unless told, but for folders of its own and no port. */
  async startAgent(
    options: readonly string[] = [],
    processOptions: BenchProcessOptions = {},
  ): Promise<BenchProcess> {
    const args = [
      ...['run', path.join(this.#folder, 'manifests'), '--runtime-endpoint', this.runtime.endpoint],
      ...['--root-dir', path.join(this.#folder, 'root'), '--pod-logs-dir', path.join(this.#folder, 'logs')],
      ...[
        '--node-name',
        MEMORY_NODE_NAME,
        '--read-only-port',
        '0',
        '--max-pods',
        String(MAX_PODS),
        ...options,
      ],
    ];
    return await this.#start(args, processOptions);
  }

  /** The generator alone. */
  async startWatch(
    options: readonly string[] = [],
    onLine?: (line: string) => void,
    nodeFlags: readonly string[] = [],
  ): Promise<BenchProcess> {
    const args = ['watch', '--runtime-endpoint', this.runtime.endpoint, ...options];
    return await this.#start(args, { onLine, nodeFlags });
  }

  /** As with Ctrl-C. */
  async end(process: BenchProcess): Promise<void> {
    this.#processes.splice(this.#processes.indexOf(process), 1);
    await process[Symbol.asyncDispose]();
  }

  /** With SIGKILL, as nobody expects it. */
  async kill(process: BenchProcess): Promise<void> {
    this.#processes.splice(this.#processes.indexOf(process), 1);
    await process.kill();
  }

  /** Until so many containers run; throws when they do not within five minutes. */
  async untilRunning(count: number, signal: AbortSignal): Promise<void> {
    await withDeadline(`until ${count} containers run`, RUNNING_MS, signal, async (within) => {
      while (this.runtime.pods.running().length !== count) {
        const ended = this.#processes.find(({ isRunning }) => !isRunning);
        if (ended !== undefined) throw new Error(`podloop, process ${ended.pid}, has ended by itself`);
        await sleep(POLL_MS, undefined, { signal: within });
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using endings = new DisposalStack();
    const folder = this.#folder;
    endings.use({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) });
    endings.use(this.runtime);
    for (const each of this.#processes) endings.use(each);
  }

  async #start(args: readonly string[], options: BenchProcessOptions): Promise<BenchProcess> {
    const started = await BenchProcess.start(args, options);
    this.#processes.push(started);
    return started;
  }
}
