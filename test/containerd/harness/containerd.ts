/**
 * Starts a real containerd for a test, with everything of its own, and removes every trace of it afterwards.
 *
 * In: the packages that scripts/containerd/install.mjs unpacked, and root. Out: a CRI socket on which the images
 * {@link BUSYBOX_IMAGE} and {@link PAUSE_IMAGE} are there and pods run, on the host's network or on a bridge.
 * It assumes that the test process lives until the clean-up is done; what a killed one leaves is removed at the
 * start of the next run (see {@link removeAbandonedInstances}).
 *
 * @module
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { ImageStatusRequest } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { cniConfig, containerdConfig, type ContainerdSettings, type InstanceNames } from './config.js';
import { CriDriver, imageService, runtimeService } from './cri-driver.js';
import { BUSYBOX_IMAGE, packImages, PAUSE_IMAGE } from './image.js';
import { chooseNames } from './instance-names.js';
import { readInstalled, type Installed, type Release } from './installed.js';
import { FOLDER_PREFIX, OWNER_FILE, removeInstance, type OwnerFile } from './leftovers.js';
import { findProcess } from './processes.js';

const run = promisify(execFile);
/** A hang must fail, a loaded machine must not. */
const START_TIMEOUT_MS = 60_000;

/** How {@link startContainerd} starts one. */
export interface ContainerdOptions extends ContainerdSettings {
  readonly version: Release;
  /** Extra environment of containerd, its shims and runc. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its state folder on a file system of its own, as on most machines, with so much room. */
  readonly stateMiB?: number;
}

/** Starts a containerd of that release and waits until it runs pods. */
export async function startContainerd(options: ContainerdOptions): Promise<Containerd> {
  const installed = await readInstalled();
  const folder = await mkdtemp(path.join(tmpdir(), FOLDER_PREFIX));
  const names = await chooseNames(folder, installed);
  const owner = await findProcess(process.pid);
  const ownerFile: OwnerFile = { owner: owner!, names, busybox: installed.busybox };
  await writeFile(path.join(folder, OWNER_FILE), JSON.stringify(ownerFile));
  const containerd = new Containerd(options, installed, ownerFile);
  try {
    await mkdir(names.cniConfigFolder);
    await writeFile(path.join(names.cniConfigFolder, '10-podloop.conflist'), cniConfig(names));
    if (options.stateMiB !== undefined) await mountState(names, options.stateMiB);
    const config = containerdConfig(options.version, names, options);
    await writeFile(containerd.configFile, config);
    await writeFile(containerd.imagesFile, await packImages(installed.busybox));
    await addBridge(names, installed.busybox);
    await containerd.start();
    await containerd.importImages();
    return containerd;
  } catch (error) {
    const log = await containerd.readLog();
    await containerd[Symbol.asyncDispose]();
    throw new Error(
      `containerd ${options.version} did not get ready: ${String(error)}\n${log.slice(-4_000)}`,
      { cause: error },
    );
  }
}

/** One running containerd. Dispose of it to remove its pods, its processes and every file of it. */
export class Containerd implements AsyncDisposable {
  readonly release: Release;
  /** The package's whole version. */
  readonly packageVersion: string;
  readonly names: InstanceNames;
  /** The tests' own client, on a channel of its own. */
  readonly driver: CriDriver;
  readonly #installed: Installed;
  readonly #ownerFile: OwnerFile;
  readonly #env: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;

  constructor(options: ContainerdOptions, installed: Installed, ownerFile: OwnerFile) {
    this.release = options.version;
    this.packageVersion = installed.versions[options.version];
    this.names = ownerFile.names;
    this.driver = new CriDriver(this.names.socket);
    this.#installed = installed;
    this.#ownerFile = ownerFile;
    const searchPath = [this.#binFolder, installed.runcFolder, process.env['PATH']].join(':');
    this.#env = { ...process.env, PATH: searchPath, ...options.env };
  }

  /** As podloop takes it: `unix:///…`. */
  get endpoint(): string {
    return `unix://${this.names.socket}`;
  }

  get folder(): string {
    return this.names.folder;
  }

  get configFile(): string {
    return path.join(this.folder, 'config.toml');
  }

  get imagesFile(): string {
    return path.join(this.folder, 'images.tar');
  }

  /** Of the containerd that runs now; undefined while none does. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts containerd on whatever state is there, and waits until the runtime and its network are ready. */
  async start(): Promise<void> {
    if (this.#process !== undefined) throw new Error('containerd runs already');
    const log = await open(path.join(this.folder, 'containerd.log'), 'a');
    try {
      const child = spawn(path.join(this.#binFolder, 'containerd'), ['--config', this.configFile], {
        env: this.#env,
        stdio: ['ignore', log.fd, log.fd],
        // Ctrl-C is for the tests: they end containerd after its pods.
        detached: true,
      });
      child.once('error', () => undefined);
      this.#process = child;
    } finally {
      await log.close();
    }
    await this.#waitUntilReady(this.#process);
  }

  /** Kills containerd (-9); shims and containers live on. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Kills containerd (-9) and starts it again on the same state, after `downMs` of silence. */
  async killAndRestart({ downMs = 0 }: { downMs?: number } = {}): Promise<void> {
    await this.kill();
    await sleep(downMs);
    await this.start();
  }

  /** Runs `ctr` in the namespace of CRI. */
  async ctr(...args: readonly string[]): Promise<string> {
    const options = { env: this.#env, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await run(
      path.join(this.#binFolder, 'ctr'),
      ['-a', this.names.socket, '-n', 'k8s.io', ...args],
      options,
    );
    return stdout;
  }

  /** Loads the images and waits until CRI sees them. */
  async importImages(): Promise<void> {
    await this.ctr('images', 'import', this.imagesFile);
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (const image of [BUSYBOX_IMAGE, PAUSE_IMAGE]) {
      const request = ImageStatusRequest.fromPartial({ image: { image } });
      for (;;) {
        const status = await this.driver.call(imageService.imageStatus, request);
        if (status.image !== undefined) break;
        if (performance.now() > deadline)
          throw new Error(`image ${image} was imported but CRI does not show it`);
        await sleep(20);
      }
    }
  }

  /** What containerd has written so far. */
  async readLog(): Promise<string> {
    return readFile(path.join(this.folder, 'containerd.log'), 'utf8').catch(() => '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#process === undefined) await this.start().catch(() => undefined);
      // What cannot be removed through CRI goes with its shim.
      await this.driver.removeAllPods().catch(() => undefined);
      await this.#end('SIGTERM');
    } finally {
      this.driver.close();
      await removeInstance(this.#ownerFile);
    }
  }

  get #binFolder(): string {
    return this.#installed.binFolders[this.release];
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    const inTime = await Promise.race([ended.then(() => true), sleep(10_000, false, { ref: false })]);
    if (inTime) return;
    child.kill('SIGKILL');
    await ended;
  }

  async #waitUntilReady(child: ChildProcess): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
        throw new Error('containerd ended at once');
      const problem = await this.#findProblem();
      if (problem === undefined) return;
      if (performance.now() > deadline) throw new Error(problem);
      await sleep(20);
    }
  }

  /** Why no pod can run yet; undefined when one can. */
  async #findProblem(): Promise<string | undefined> {
    try {
      const { status } = await this.driver.call(
        runtimeService.status,
        { verbose: false },
        { deadlineMs: 5_000 },
      );
      return status?.conditions.find((condition) => !condition.status)?.message;
    } catch (error) {
      return String(error);
    }
  }
}

/** It goes with the other mounts below the instance's folder. */
async function mountState({ state }: InstanceNames, sizeMiB: number): Promise<void> {
  await mkdir(state);
  await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m,mode=711`, 'tmpfs', state]);
}

async function addBridge({ bridge, subnet }: InstanceNames, busybox: string): Promise<void> {
  await run(busybox, ['brctl', 'addbr', bridge]);
  await run(busybox, ['ip', 'addr', 'add', `${subnet}.1/24`, 'dev', bridge]);
  await run(busybox, ['ip', 'link', 'set', bridge, 'up']);
}
