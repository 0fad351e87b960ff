import { mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LinuxPodSandboxConfig, PodSandboxState, type PodSandboxConfig } from '#watch/messages';
import { sandboxRecordFile, type SandboxRecord } from '../container/container-record.js';
import { findHolder } from '../isolation/sandbox-holder.js';
import { Mutex } from '#base/async/mutex.js';
import { isAlive, type ProcessIdentity } from '../process/child-identity.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { syncPath } from '#base/fs/whole-file.js';

/** What a {@link Sandbox} needs. */
export interface SandboxOptions {
  readonly record: SandboxRecord;
  /** The sandbox's folder. */
  readonly dir: string;
  /** The id of this boot. */
  readonly bootId: string;
}

/**
 * One pod's frame: its record, and the process that holds its namespaces where it has any of its own.
 *
 * Ready from its creation until it is stopped, its holder ends or the machine does: nothing of a sandbox outlives a
 * boot.
 */
export class Sandbox {
  /** Stop and remove come one after another. */
  readonly lifecycle = new Mutex();
  readonly dir: string;
  readonly #bootId: string;
  #record: SandboxRecord;
  #holder: ProcessIdentity | undefined;
  #stopping = false;
  #lossTold = false;

  constructor(options: SandboxOptions) {
    this.#record = options.record;
    this.dir = options.dir;
    this.#bootId = options.bootId;
  }

  get id(): string {
    return this.#record.id;
  }

  get record(): SandboxRecord {
    return this.#record;
  }

  get config(): PodSandboxConfig {
    return this.#record.config;
  }

  /** The process that holds its namespaces, alive or dead; undefined where it has none of its own. */
  get holder(): ProcessIdentity | undefined {
    return this.#holder;
  }

  /** The same, for those who enter them: undefined unless it lives. */
  get holderPid(): number | undefined {
    return this.#holder !== undefined && isAlive(this.#holder) ? this.#holder.pid : undefined;
  }

  get state(): PodSandboxState {
    const { stopped, ready, bootId, isolation } = this.#record;
    const held = isolation === 'none' || this.holderPid !== undefined;
    const isReady = ready && !stopped && bootId === this.#bootId && held;
    return isReady ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
  }

  /** Whether a container may be made or started in it. */
  get takesContainers(): boolean {
    return !this.#stopping && this.state === PodSandboxState.SANDBOX_READY;
  }

  /** Whether its holder has ended without a stop, and this method has not reported that yet. */
  noticeLoss(): boolean {
    const { stopped, ready, bootId } = this.#record;
    if (this.#lossTold || this.#stopping || stopped || !ready || bootId !== this.#bootId) return false;
    if (this.state === PodSandboxState.SANDBOX_READY) return false;
    this.#lossTold = true;
    return true;
  }

  /** Takes up what an earlier runtime has left of it. */
  async restore(): Promise<void> {
    this.#holder = await findHolder(this.dir);
  }

  /** Writes its record for the first time. */
  async save(): Promise<void> {
    await mkdir(this.dir, { mode: 0o700 });
    await this.#write(this.#record);
    await syncPath(dirname(this.dir));
  }

  /** It is whole now. */
  async markReady(holder: ProcessIdentity | undefined): Promise<void> {
    this.#holder = holder;
    await this.#write({ ...this.#record, ready: true });
  }

  /** From now on no container is started in it. */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Makes it not ready, for good. It needs no room on the disk: what ends a pod is what makes room. */
  async markStopped(): Promise<void> {
    const before = recordPathOf(this.dir, this.#record.stopped);
    const record = { ...this.#record, stopped: true };
    try {
      await rename(before, recordPathOf(this.dir, true));
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
      // Somebody has removed it.
      await this.#write(record);
    }
    await syncPath(this.dir);
    this.#record = record;
  }

  /** Records changed resources of the pod; those that are not given stay. */
  async setResources(change: Partial<Pick<LinuxPodSandboxConfig, 'overhead' | 'resources'>>): Promise<void> {
    const linux = this.config.linux ?? LinuxPodSandboxConfig.fromPartial({});
    const { overhead = linux.overhead, resources = linux.resources } = change;
    const config = { ...this.config, linux: { ...linux, overhead, resources } };
    await this.#write({ ...this.#record, config });
  }

  async #write(record: SandboxRecord): Promise<void> {
    await sandboxRecordFile(recordPathOf(this.dir, record.stopped)).write(record);
    this.#record = record;
  }
}

/** The record in the folder of a sandbox; undefined if there is none. Rejects when it cannot be read. */
export async function readSandboxRecord(dir: string): Promise<SandboxRecord | undefined> {
  const stopped = await sandboxRecordFile(recordPathOf(dir, true)).read();
  if (stopped !== undefined) return { ...stopped, stopped: true };
  return await sandboxRecordFile(recordPathOf(dir, false)).read();
}

/** The name says whether the sandbox is stopped. */
function recordPathOf(dir: string, isStopped: boolean): string {
  return join(dir, isStopped ? 'sandbox-stopped.json' : 'sandbox.json');
}
