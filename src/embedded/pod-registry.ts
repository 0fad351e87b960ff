import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContainerConfig, type PodSandboxConfig } from '../cri/generated/runtime/v1/cri.js';
import { messageOf } from '../util/errors.js';
import { ContainerFiles } from './container-files.js';
import {
  containerName,
  decodeContainerRecord,
  decodeSandboxRecord,
  encodeContainerRecord,
  sandboxName,
  type ContainerRecord,
} from './container-record.js';
import { type ContainerHost } from './container-run.js';
import { Container } from './container.js';
import { NameIndex } from './name-index.js';
import { readIfThere, syncPath, writeWhole } from './record-file.js';
import { computeCommand } from './resolve-command.js';
import { notFound } from './rpc-error.js';
import { Sandbox } from './sandbox.js';
import { renderCommand, type CommandTools } from './supervisor-script.js';

/** What a {@link PodRegistry} needs. */
export interface PodRegistryOptions {
  readonly rootDir: string;
  readonly host: ContainerHost;
  readonly tools: CommandTools;
  /** Called when a container was seen to start and to end, after its state says so. */
  readonly onStarted: (container: Container) => void;
  readonly onStopped: (container: Container) => void;
}

/** What a new container is made of, checked already. */
export interface NewContainer {
  readonly sandbox: Sandbox;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly logPath: string;
}

/** How many containers are taken up at once at the start: each is a handful of small reads. */
const RESTORE_AT_ONCE = 16;
/** A folder that is being made or unmade; what is found under this name after a crash is thrown away. */
const UNFINISHED = '.unfinished-';

/**
 * Every sandbox and container, in memory and on the disk.
 *
 * ```
 * ROOT/sandboxes/ID.json       one record each
 * ROOT/containers/ID/          container.json, command, and what the supervisor writes
 * ```
 */
export class PodRegistry {
  readonly #options: PodRegistryOptions;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, Container>();
  readonly #sandboxNames = new NameIndex('sandbox');
  readonly #containerNames = new NameIndex('container');

  constructor(options: PodRegistryOptions) {
    this.#options = options;
  }

  get sandboxes(): readonly Sandbox[] {
    return [...this.#sandboxes.values()];
  }

  get containers(): readonly Container[] {
    return [...this.#containers.values()];
  }

  /** The sandbox of that whole id, or a NOT_FOUND. */
  getSandbox(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw notFound('sandbox', id);
    return sandbox;
  }

  findSandbox(id: string): Sandbox | undefined {
    return this.#sandboxes.get(id);
  }

  /** The container of that whole id, or a NOT_FOUND. */
  getContainer(id: string): Container {
    const container = this.#containers.get(id);
    if (container === undefined) throw notFound('container', id);
    return container;
  }

  findContainer(id: string): Container | undefined {
    return this.#containers.get(id);
  }

  /** In the order of their creation. */
  containersOf(sandboxId: string): readonly Container[] {
    return this.containers.filter((container) => container.record.sandboxId === sandboxId);
  }

  /** Takes up everything that an earlier runtime has left under the same root. */
  async load(): Promise<void> {
    await mkdir(this.#sandboxDir, { recursive: true, mode: 0o700 });
    await mkdir(this.#containerDir, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#sandboxDir)) await this.#loadSandbox(name);
    const containers: Container[] = [];
    for (const name of await readdir(this.#containerDir)) {
      const container = await this.#loadContainer(name);
      if (container !== undefined) containers.push(container);
    }
    containers.sort((a, b) => (a.record.createdAtNs < b.record.createdAtNs ? -1 : 1));
    for (const container of containers) this.#addContainer(container);
    for (let at = 0; at < containers.length; at += RESTORE_AT_ONCE) {
      await Promise.all(
        containers.slice(at, at + RESTORE_AT_ONCE).map((container) => this.#restore(container)),
      );
    }
    await this.#options.host.processes.sweep();
  }

  async createSandbox(config: PodSandboxConfig): Promise<Sandbox> {
    const { host } = this.#options;
    const id = newId();
    const name = sandboxName(config);
    this.#sandboxNames.reserve(name, id);
    const createdAtNs = host.time.now();
    const record = { id, name, createdAtNs, bootId: host.bootId, stopped: false, config };
    const sandbox = new Sandbox({ record, path: join(this.#sandboxDir, `${id}.json`), bootId: host.bootId });
    try {
      await sandbox.save();
    } catch (error) {
      this.#sandboxNames.release(name);
      throw error;
    }
    this.#sandboxes.set(id, sandbox);
    return sandbox;
  }

  /** Forgets a sandbox that has no containers. */
  async deleteSandbox(sandbox: Sandbox): Promise<void> {
    await sandbox.deleteRecord();
    this.#sandboxes.delete(sandbox.id);
    this.#sandboxNames.release(sandbox.record.name);
  }

  async createContainer({ sandbox, config, imageId, logPath }: NewContainer): Promise<Container> {
    const id = newId();
    const name = containerName(config, sandbox.config);
    this.#containerNames.reserve(name, id);
    const createdAtNs = this.#options.host.time.now();
    try {
      const record = { id, sandboxId: sandbox.id, name, createdAtNs, imageId, logPath, config };
      const container = this.#makeContainer(record, sandbox.config.hostname);
      await this.#writeContainer(container);
      this.#addContainer(container);
      return container;
    } catch (error) {
      this.#containerNames.release(name);
      throw error;
    }
  }

  /** Forgets a container that does not run. */
  async deleteContainer(container: Container): Promise<void> {
    await container.close();
    const doomed = join(this.#containerDir, `${UNFINISHED}${container.id}`);
    // The rename is the moment of removal; what follows may be cut short by a crash.
    await rename(container.files.dir, doomed).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
    await rm(doomed, { recursive: true, force: true });
    this.#containers.delete(container.id);
    this.#containerNames.release(container.record.name);
  }

  /** Looks at the facts of every container; see {@link Container.scan}. */
  async scan(): Promise<void> {
    for (const container of this.containers) await container.scan();
  }

  /** Lets go of everything; containers go on. */
  async close(): Promise<void> {
    await this.#options.host.processes.sweep();
    await Promise.all(this.containers.map((container) => container.close()));
  }

  get #sandboxDir(): string {
    return join(this.#options.rootDir, 'sandboxes');
  }

  get #containerDir(): string {
    return join(this.#options.rootDir, 'containers');
  }

  async #loadSandbox(file: string): Promise<void> {
    const { host } = this.#options;
    const path = join(this.#sandboxDir, file);
    if (!file.endsWith('.json')) {
      await rm(path, { force: true });
      return;
    }
    try {
      const record = decodeSandboxRecord((await readIfThere(path)) ?? '');
      this.#sandboxNames.reserve(record.name, record.id);
      this.#sandboxes.set(record.id, new Sandbox({ record, path, bootId: host.bootId }));
    } catch (error) {
      host.logger.error('Sandbox record not readable, left alone', error, { path });
    }
  }

  async #loadContainer(name: string): Promise<Container | undefined> {
    const dir = join(this.#containerDir, name);
    if (name.startsWith(UNFINISHED)) {
      await rm(dir, { recursive: true, force: true });
      return undefined;
    }
    try {
      const record = decodeContainerRecord((await readIfThere(new ContainerFiles(dir).recordPath)) ?? '');
      return this.#makeContainer(record, this.findSandbox(record.sandboxId)?.config.hostname ?? '');
    } catch (error) {
      this.#options.host.logger.error('Container record not readable, left alone', error, { path: dir });
      return undefined;
    }
  }

  async #restore(container: Container): Promise<void> {
    try {
      await container.restore();
    } catch (error) {
      this.#options.host.logger.warn('Container not restored whole', {
        containerId: container.id,
        err: messageOf(error),
      });
    }
  }

  #makeContainer(record: ContainerRecord, hostname: string): Container {
    const files = new ContainerFiles(join(this.#containerDir, record.id));
    const command = computeCommand(record.id, record.config, hostname);
    const { host, onStarted, onStopped } = this.#options;
    return new Container({ record, files, command, host, onStarted, onStopped });
  }

  #addContainer(container: Container): void {
    this.#containerNames.reserve(container.record.name, container.id);
    this.#containers.set(container.id, container);
  }

  /** The folder appears whole: made under another name, brought to the disk, renamed. */
  async #writeContainer(container: Container): Promise<void> {
    const draft = new ContainerFiles(join(this.#containerDir, `${UNFINISHED}${container.id}`));
    try {
      await mkdir(draft.dir, { mode: 0o700 });
      // Here and not in the supervisor, so that the start does not wait for one more process.
      if (container.record.logPath !== '') await draft.makePipes(this.#options.tools.mkfifo);
      await draft.reserveExit();
      await writeWhole(draft.recordPath, encodeContainerRecord(container.record));
      await writeWhole(draft.commandPath, renderCommand(container.command, this.#options.tools));
      await rename(draft.dir, container.files.dir);
      await syncPath(this.#containerDir);
    } catch (error) {
      await rm(draft.dir, { recursive: true, force: true });
      throw error;
    }
  }
}

function newId(): string {
  return randomBytes(32).toString('hex');
}
