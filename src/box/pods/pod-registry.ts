/**
 * Which sandboxes and containers there are.
 *
 * In: requests that were checked already. Out: folders with records, the parts of sandboxes and containers, and calls
 * when one of them has started or ended. A record is on the disk before anything is made, and goes after everything was
 * undone: so the next runtime finds, and undoes, whatever was left half way.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { type ContainerConfig, type PodSandboxConfig } from '#watch/messages';
import { messageOf } from '#base/errors/errors.js';
import {
  containerName,
  type ContainerRecord,
  type ImageDefaults,
  rootIdsOf,
  sandboxName,
} from '../container/container-record.js';
import { type ContainerHost } from '../container/container-host.js';
import { ContainerParts } from '../container/container-parts.js';
import { Container } from '../container/container.js';
import { findHolder } from '../isolation/sandbox-holder.js';
import { PodFolders } from './sandbox-folders.js';
import { computeCommand } from '../container/resolve-command.js';
import { notFound, refused } from '../rpc-error.js';
import { Sandbox } from './sandbox.js';
import { type LiveSandbox, type SandboxParts } from './sandbox-parts.js';
import { type CommandTools } from '../container/supervisor-script.js';

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

/** Every sandbox and container, in memory and, in {@link PodFolders}, on the disk. */
export class PodRegistry {
  readonly #options: PodRegistryOptions;
  readonly #folders: PodFolders;
  readonly #containerParts: ContainerParts;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, Container>();
  readonly #sandboxNames = new NameIndex('sandbox');
  readonly #containerNames = new NameIndex('container');
  /** Containers whose records cannot be read: they are left alone. */
  #unread: readonly string[] = [];

  constructor(options: PodRegistryOptions) {
    const { rootDir, host, tools } = options;
    this.#options = options;
    this.#containerParts = new ContainerParts(host);
    this.#folders = new PodFolders({ ...host, rootDir, mkfifo: tools.mkfifo });
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
    const stored = await readPods(this.#folders);
    const { half, records, sandboxIds, containerIds } = stored;
    for (const sandbox of stored.sandboxes) this.#addSandbox(sandbox);
    const containers = records.map((record) => this.#makeContainer(record));
    for (const container of containers) this.#addContainer(container);
    await this.#restoreParts(half, sandboxIds, containerIds);
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
    const sandbox = new Sandbox({ record, dir: this.#folders.sandboxDir(id), bootId: host.bootId });
    try {
      // The intent: whatever is made from here on is found again by this record, and undone unless it becomes ready.
      await sandbox.save();
      const holder = await parts.assemble(sandbox, signal);
      await sandbox.markReady(holder);
    } catch (error) {
      this.#sandboxNames.release(name);
      await this.#undoSandbox(sandbox);
      throw error;
    }
    this.#addSandbox(sandbox);
    return sandbox;
  }

  /** Forgets a sandbox that has no containers. */
  async deleteSandbox(sandbox: Sandbox): Promise<void> {
    await this.#options.parts.dismantle(sandbox);
    await this.#folders.remove(sandbox.dir);
    this.#sandboxes.delete(sandbox.id);
    this.#sandboxNames.release(sandbox.record.name);
  }

  /** Rejects, and nothing is left, when its files cannot be made. */
  async createContainer({ sandbox, ...made }: NewContainer, signal: AbortSignal): Promise<Container> {
    const id = newId();
    const name = containerName(made.config, sandbox.config);
    this.#containerNames.reserve(name, id);
    const createdAtNs = this.#options.host.time.now();
    const plan = { id, sandboxId: sandbox.id, name, createdAtNs, ...made };
    try {
      const record = { ...plan, user: await this.#containerParts.assemble(plan, signal) };
      const container = this.#makeContainer(record);
      await this.#folders.writeContainer(record, container.pipes);
      this.#addContainer(container);
      return container;
    } catch (error) {
      this.#containerNames.release(name);
      await this.#containerParts.undo(plan);
      throw error;
    }
  }

  /** Forgets a container that does not run. */
  async deleteContainer(container: Container): Promise<void> {
    await container.dismiss();
    await this.#folders.remove(container.files.dir);
    await this.#containerParts.dismantle(container.record);
    this.#containers.delete(container.id);
    this.#containerNames.release(container.record.name);
  }

  /** Tells whether files under an id are, or may be, those of a container that there is. */
  findRootOwners(): (rootId: string) => boolean {
    const known = new Set(this.containers.flatMap(({ record }) => rootIdsOf(record)));
    return (rootId) => known.has(rootId) || this.#unread.some((id) => rootId.startsWith(id));
  }

  /** Looks at the facts of every container; see {@link Container.scan}. */
  async scan(): Promise<void> {
    for (const sandbox of this.sandboxes) if (sandbox.noticeLoss()) this.#options.onSandboxLost(sandbox);
    for (const container of this.containers) await container.scan();
    await this.#options.host.cgroups.retryRemovals();
  }

  /** Lets go of everything; containers go on. */
  async close(): Promise<void> {
    await this.#options.host.processes.sweep();
    await Promise.all(this.containers.map((container) => container.close()));
  }

  /** Undoes half made sandboxes, and what belongs to nobody. What has a record that cannot be read is not nobody's. */
  async #restoreParts(
    half: readonly Sandbox[],
    sandboxIds: readonly string[],
    containerIds: readonly string[],
  ): Promise<void> {
    const { parts } = this.#options;
    this.#unread = containerIds.filter((id) => !this.#containers.has(id));
    const live: LiveSandbox[] = [];
    for (const id of sandboxIds) {
      const sandbox = this.findSandbox(id) ?? half.find((each) => each.id === id);
      const own = this.containersOf(id).map((container) => container.id);
      const holder = sandbox === undefined ? await findHolder(this.#folders.sandboxDir(id)) : sandbox.holder;
      live.push({ sandboxId: id, config: sandbox?.config, containerIds: [...own, ...this.#unread], holder });
    }
    await parts.restore(live);
    for (const sandbox of half) await this.#undoSandbox(sandbox);
  }

  /** What cannot be undone keeps its record: the next start tries it again. */
  async #undoSandbox(sandbox: Sandbox): Promise<void> {
    try {
      await this.#options.parts.dismantle(sandbox);
      await this.#folders.remove(sandbox.dir);
    } catch (error) {
      this.#options.host.logger.error('Half a sandbox not undone', error, { sandboxId: sandbox.id });
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

  #makeContainer(record: ContainerRecord): Container {
    const files = this.#folders.containerFiles(record.id);
    const hostname = this.findSandbox(record.sandboxId)?.config.hostname ?? '';
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

  #addSandbox(sandbox: Sandbox): void {
    this.#sandboxNames.reserve(sandbox.record.name, sandbox.id);
    this.#sandboxes.set(sandbox.id, sandbox);
  }

  #addContainer(container: Container): void {
    this.#containerNames.reserve(container.record.name, container.id);
    this.#containers.set(container.id, container);
  }
}

function newId(): string {
  return randomBytes(32).toString('hex');
}

/** What an earlier runtime has left on the disk. */
interface StoredPods {
  readonly sandboxes: readonly Sandbox[];
  /** Those that were never made whole: shown to nobody, and undone once it is known what else there is. */
  readonly half: readonly Sandbox[];
  /** Of containers, in the order of their creation. */
  readonly records: readonly ContainerRecord[];
  /** Of everything that has a folder, whether its record can be read or not. */
  readonly sandboxIds: readonly string[];
  readonly containerIds: readonly string[];
}

/** Reads the records of all pods. What cannot be read is left out, and left alone. */
async function readPods(folders: PodFolders): Promise<StoredPods> {
  const { sandboxIds, containerIds } = await folders.list();
  const sandboxes: Sandbox[] = [];
  const half: Sandbox[] = [];
  for (const id of sandboxIds) {
    const sandbox = await folders.readSandbox(id);
    if (sandbox !== undefined) (sandbox.record.ready ? sandboxes : half).push(sandbox);
  }
  const records: ContainerRecord[] = [];
  for (const id of containerIds) {
    const record = await folders.readContainer(id);
    if (record !== undefined) records.push(record);
  }
  records.sort((a, b) => (a.createdAtNs < b.createdAtNs ? -1 : 1));
  return { sandboxes, half, records, sandboxIds, containerIds };
}

/** Which names are taken, and by whom. */
class NameIndex {
  readonly #kind: string;
  readonly #ids = new Map<string, string>();

  constructor(kind: 'sandbox' | 'container') {
    this.#kind = kind;
  }

  /** Takes a name; throws when another id has it. */
  reserve(name: string, id: string): void {
    const holder = this.#ids.get(name) ?? id;
    if (holder !== id) {
      throw refused(
        `failed to reserve ${this.#kind} name "${name}": name "${name}" is reserved for "${holder}"`,
      );
    }
    this.#ids.set(name, id);
  }

  release(name: string): void {
    this.#ids.delete(name);
  }
}
