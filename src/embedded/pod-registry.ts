import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type ContainerConfig, type PodSandboxConfig } from '../cri/generated/runtime/v1/cri.js';
import { messageOf } from '../util/errors.js';
import { ContainerFiles } from './container-files.js';
import {
  containerName,
  decodeContainerRecord,
  decodeSandboxRecord,
  encodeContainerRecord,
  rootIdsOf,
  sandboxName,
  type ContainerRecord,
  type ImageDefaults,
} from './container-record.js';
import { type ContainerHost } from './container-run.js';
import { Container } from './container.js';
import { findImageFolders } from './image-folders.js';
import { NameIndex } from './name-index.js';
import { readIfThere, syncPath, writeWhole } from './record-file.js';
import { computeCommand } from './resolve-command.js';
import { notFound } from './rpc-error.js';
import { Sandbox, sandboxRecordPath } from './sandbox.js';
import { type SandboxParts } from './sandbox-parts.js';
import { type CommandTools } from './supervisor-script.js';

/** What a {@link PodRegistry} needs. */
export interface PodRegistryOptions {
  readonly rootDir: string;
  readonly host: ContainerHost;
  readonly tools: CommandTools;
  readonly parts: SandboxParts;
  /** Called when a container was seen to start and to end, after its state says so. */
  readonly onStarted: (container: Container) => void;
  readonly onStopped: (container: Container) => void;
  /** Called when a sandbox has ended although nobody stopped it. */
  readonly onSandboxLost: (sandbox: Sandbox) => void;
}

/** What a new container is made of, checked already. */
export interface NewContainer {
  readonly sandbox: Sandbox;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly image: ImageDefaults;
  readonly imageVolumes: ContainerRecord['imageVolumes'];
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
 * ROOT/sandboxes/ID/     sandbox.json, the holder's record, files for /etc
 * ROOT/containers/ID/    container.json, scripts, and what the supervisor writes
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
    const half: Sandbox[] = [];
    for (const name of await readdir(this.#sandboxDir)) {
      const sandbox = await this.#loadSandbox(name);
      if (sandbox?.record.ready === false) half.push(sandbox);
    }
    const containers: Container[] = [];
    const containerNames = await readdir(this.#containerDir);
    for (const name of containerNames) {
      const container = await this.#loadContainer(name);
      if (container !== undefined) containers.push(container);
    }
    containers.sort((a, b) => (a.record.createdAtNs < b.record.createdAtNs ? -1 : 1));
    for (const container of containers) this.#addContainer(container);
    await this.#restoreParts(half, await readdir(this.#containerDir));
    for (let at = 0; at < containers.length; at += RESTORE_AT_ONCE) {
      await Promise.all(
        containers.slice(at, at + RESTORE_AT_ONCE).map((container) => this.#restore(container)),
      );
    }
    await this.#options.host.processes.sweep();
  }

  /** Rejects, and nothing is left, when something that it needs cannot be made. */
  async createSandbox(config: PodSandboxConfig, signal: AbortSignal): Promise<Sandbox> {
    const { host, parts } = this.#options;
    const id = newId();
    const name = sandboxName(config);
    this.#sandboxNames.reserve(name, id);
    const { kind: isolation } = host.isolation;
    const ownNetwork = host.isolation.ownsNetwork(config);
    const state = { bootId: host.bootId, ready: false, stopped: false, isolation, ownNetwork };
    const record = { id, name, createdAtNs: host.time.now(), ...state, config };
    const sandbox = new Sandbox({ record, dir: join(this.#sandboxDir, id), bootId: host.bootId });
    try {
      // The intent: whatever is made from here on is found again by this record, and undone unless it becomes ready.
      await sandbox.save();
      const holder = await parts.assemble(sandbox, signal);
      await sandbox.markReady(holder);
    } catch (error) {
      await parts.dismantle(sandbox).catch(() => undefined);
      await this.#removeFolder(sandbox.dir);
      this.#sandboxNames.release(name);
      throw error;
    }
    this.#sandboxes.set(id, sandbox);
    return sandbox;
  }

  /** Forgets a sandbox that has no containers. */
  async deleteSandbox(sandbox: Sandbox): Promise<void> {
    await this.#options.parts.dismantle(sandbox);
    await this.#removeFolder(sandbox.dir);
    this.#sandboxes.delete(sandbox.id);
    this.#sandboxNames.release(sandbox.record.name);
  }

  async createContainer({
    sandbox,
    config,
    imageId,
    image,
    imageVolumes,
    logPath,
  }: NewContainer): Promise<Container> {
    const { host } = this.#options;
    const id = newId();
    const name = containerName(config, sandbox.config);
    this.#containerNames.reserve(name, id);
    const createdAtNs = host.time.now();
    try {
      const root = await host.images.prepareRoot({
        imageId,
        containerId: id,
        isolated: host.isolation.hasRoots,
      });
      const user = await host.isolation.resolveUser(config, image.user, root);
      const facts = { id, sandboxId: sandbox.id, name, createdAtNs, imageId, logPath };
      const record = { ...facts, config, image, imageVolumes, user };
      await findImageFolders(host.images, record);
      const container = this.#makeContainer(record, sandbox.config.hostname);
      await host.cgroups.createContainer(sandbox.id, id, config.linux?.resources);
      await this.#writeContainer(container);
      this.#addContainer(container);
      return container;
    } catch (error) {
      this.#containerNames.release(name);
      await host.cgroups.findContainer(sandbox.id, id).remove();
      for (const rootId of rootIdsOf({ id, imageVolumes })) await host.images.releaseRoot(rootId);
      throw error;
    }
  }

  /** Forgets a container that does not run. */
  async deleteContainer(container: Container): Promise<void> {
    const { cgroups, images } = this.#options.host;
    await container.dismiss();
    await this.#removeFolder(container.files.dir);
    await cgroups.findContainer(container.record.sandboxId, container.id).remove();
    for (const rootId of rootIdsOf(container.record)) await images.releaseRoot(rootId);
    this.#containers.delete(container.id);
    this.#containerNames.release(container.record.name);
  }

  /** Looks at the facts of every container; see {@link Container.scan}. */
  async scan(): Promise<void> {
    for (const sandbox of this.sandboxes) if (sandbox.noticeLoss()) this.#options.onSandboxLost(sandbox);
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

  /** Those that were never made whole are not shown to anybody, and undone once it is known what else there is. */
  async #loadSandbox(name: string): Promise<Sandbox | undefined> {
    const { host } = this.#options;
    const dir = join(this.#sandboxDir, name);
    if (name.startsWith(UNFINISHED)) {
      await rm(dir, { recursive: true, force: true });
      return undefined;
    }
    try {
      const isFolder = (await stat(dir)).isDirectory();
      const text = isFolder ? await readIfThere(sandboxRecordPath(dir)) : undefined;
      if (text === undefined) {
        // Nothing is made before the record is there.
        await rm(dir, { recursive: true, force: true });
        return undefined;
      }
      const record = decodeSandboxRecord(text);
      const sandbox = new Sandbox({ record, dir, bootId: host.bootId });
      await sandbox.restore();
      if (record.ready) {
        this.#sandboxNames.reserve(record.name, record.id);
        this.#sandboxes.set(record.id, sandbox);
      }
      return sandbox;
    } catch (error) {
      host.logger.error('Sandbox record not readable, left alone', error, { path: dir });
      return undefined;
    }
  }

  /** Undoes half made sandboxes, and what belongs to nobody. What has a record that cannot be read is not nobody's. */
  async #restoreParts(half: readonly Sandbox[], containerFolders: readonly string[]): Promise<void> {
    const { parts, host } = this.#options;
    const read = new Set(this.containers.map(({ id }) => id));
    const unread = containerFolders.filter((name) => !read.has(name));
    const folders = await readdir(this.#sandboxDir);
    await parts.restore(
      folders.map((id) => {
        const sandbox = this.findSandbox(id) ?? half.find((each) => each.id === id);
        const ownContainers = this.containersOf(id).map((container) => container.id);
        const containerIds = [...ownContainers, ...unread];
        return { sandboxId: id, config: sandbox?.config, containerIds, holder: sandbox?.holder };
      }),
    );
    for (const sandbox of half) {
      try {
        await parts.dismantle(sandbox);
        await this.#removeFolder(sandbox.dir);
      } catch (error) {
        host.logger.error('Half a sandbox not undone', error, { sandboxId: sandbox.id });
      }
    }
  }

  /** The rename is the moment of removal; what follows may be cut short by a crash. */
  async #removeFolder(dir: string): Promise<void> {
    const doomed = join(dirname(dir), `${UNFINISHED}${basename(dir)}`);
    await rename(dir, doomed).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
    await rm(doomed, { recursive: true, force: true });
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
    const command = computeCommand(record, hostname);
    const { host, onStarted, onStopped } = this.#options;
    return new Container({
      record,
      files,
      command,
      host,
      findSandbox: () => this.findSandbox(record.sandboxId),
      findMain: (id) => this.#containers.get(id)?.main,
      onStarted,
      onStopped,
    });
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
      await draft.makePipes(this.#options.tools.mkfifo, container.pipes);
      await draft.reserveExit();
      await writeWhole(draft.recordPath, encodeContainerRecord(container.record));
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
