import { rm } from 'node:fs/promises';
import { PodSandboxState, type PodSandboxConfig } from '../cri/generated/runtime/v1/cri.js';
import { encodeSandboxRecord, type SandboxRecord } from './container-record.js';
import { Mutex } from './mutex.js';
import { writeWhole } from './record-file.js';

/** What a {@link Sandbox} needs. */
export interface SandboxOptions {
  readonly record: SandboxRecord;
  /** Where its record is kept. */
  readonly path: string;
  /** The id of this boot. */
  readonly bootId: string;
}

/**
 * One pod's frame. It has no process: containers are processes of the host, and share the host's namespaces.
 *
 * Ready from its creation until it is stopped or the machine is: nothing of a sandbox outlives a boot.
 */
export class Sandbox {
  /** Stop and remove come one after another. */
  readonly lifecycle = new Mutex();
  readonly #path: string;
  readonly #bootId: string;
  #record: SandboxRecord;
  #stopping = false;

  constructor(options: SandboxOptions) {
    this.#record = options.record;
    this.#path = options.path;
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

  get state(): PodSandboxState {
    const ready = !this.#record.stopped && this.#record.bootId === this.#bootId;
    return ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
  }

  /** Whether a container may be made or started in it. */
  get takesContainers(): boolean {
    return !this.#stopping && this.state === PodSandboxState.SANDBOX_READY;
  }

  /** Writes its record for the first time. */
  async save(): Promise<void> {
    await writeWhole(this.#path, encodeSandboxRecord(this.#record));
  }

  /** From now on no container is started in it. */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Makes it not ready, for good. */
  async markStopped(): Promise<void> {
    const stopped = { ...this.#record, stopped: true };
    await writeWhole(this.#path, encodeSandboxRecord(stopped));
    this.#record = stopped;
  }

  /** Forgets it. */
  async deleteRecord(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}
