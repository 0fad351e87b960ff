import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { type Logger } from '#base/log/logger.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';

/** The findings about a container when the last agent ended. */
export interface RememberedProbes {
  readonly ready?: boolean;
  readonly started?: boolean;
}

/** Stores findings of probes beyond the life of this process. Neither waits nor throws. */
export interface ProbeMemory {
  recall(podUid: string, containerId: string): RememberedProbes | undefined;
  remember(podUid: string, containerId: string, found: RememberedProbes): void;
  /** The container was replaced. */
  forget(podUid: string, containerId: string): void;
  /** The pod is gone. */
  forgetPod(podUid: string): void;
  /** Every remembered pod. */
  pods(): readonly string[];
}

/** What {@link ProbeFiles.open} needs. */
export interface ProbeFilesOptions {
  /** A folder of its own below the root folder; created if it is missing. */
  readonly folder: string;
  readonly logger: Logger;
}

const SUFFIX = '.json';
/** The agent's start waits for all of them. */
const READS_AT_ONCE = 16;

/**
 * A {@link ProbeMemory} in files: one per pod, written as a whole, one write at a time per pod, only the
 * newest state.
 *
 * If the agent is killed between a change and its write, that one change is lost, and the probe finds it
 * again. Therefore nothing is flushed to disk at once (no container survives a power cut), and an unreadable
 * file counts as missing.
 */
export class ProbeFiles implements ProbeMemory, AsyncDisposable {
  readonly #options: ProbeFilesOptions;
  readonly #pods: Map<string, Map<string, RememberedProbes>>;
  /** Pods whose file is out of date. */
  readonly #dirty = new Set<string>();
  readonly #writing = new Map<string, Promise<void>>();

  private constructor(options: ProbeFilesOptions, pods: Map<string, Map<string, RememberedProbes>>) {
    this.#options = options;
    this.#pods = pods;
  }

  /** Reads all files. Rejects only when the folder can be neither created nor listed. */
  static async open(options: ProbeFilesOptions): Promise<ProbeFiles> {
    const { folder, logger } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const pods = new Map<string, Map<string, RememberedProbes>>();
    const all = await readdir(folder);
    // An agent was killed while writing; the file of a pod that is gone would never be written again.
    for (const name of all.filter((each) => each.endsWith(`${SUFFIX}.tmp`))) {
      await rm(join(folder, name), { force: true }).catch(() => undefined);
    }
    const names = all.filter((name) => name.endsWith(SUFFIX));
    await forEachAtOnce(names, READS_AT_ONCE, async (name) => {
      try {
        pods.set(decodeName(name), parseRecord((await readIfThere(join(folder, name))) ?? '{}'));
      } catch (error) {
        logger.warn('Record of probes cannot be read, they start anew', {
          path: join(folder, name),
          err: messageOf(error),
        });
      }
    });
    return new ProbeFiles(options, pods);
  }

  recall(podUid: string, containerId: string): RememberedProbes | undefined {
    return this.#pods.get(podUid)?.get(containerId);
  }

  remember(podUid: string, containerId: string, found: RememberedProbes): void {
    const containers = this.#pods.get(podUid) ?? new Map<string, RememberedProbes>();
    this.#pods.set(podUid, containers);
    const known = containers.get(containerId);
    const next = { ...known, ...found };
    if (known?.ready === next.ready && known?.started === next.started) return;
    containers.set(containerId, next);
    this.#save(podUid);
  }

  forget(podUid: string, containerId: string): void {
    if (this.#pods.get(podUid)?.delete(containerId) === true) this.#save(podUid);
  }

  forgetPod(podUid: string): void {
    if (this.#pods.delete(podUid)) this.#save(podUid);
  }

  pods(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** Resolves when everything remembered so far is in its file. */
  async flush(): Promise<void> {
    while (this.#writing.size > 0) {
      await Promise.all(this.#writing.values());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #save(podUid: string): void {
    this.#dirty.add(podUid);
    if (!this.#writing.has(podUid)) this.#writing.set(podUid, this.#write(podUid));
  }

  async #write(podUid: string): Promise<void> {
    const path = join(this.#options.folder, encodeName(podUid));
    // The promise has to be registered before it can be removed.
    await Promise.resolve();
    while (this.#dirty.delete(podUid)) {
      const containers = this.#pods.get(podUid);
      try {
        if (containers === undefined || containers.size === 0) await rm(path, { force: true });
        else await writeWhole(path, formatRecord(containers), { durable: false });
      } catch (error) {
        this.#options.logger.error('Record of probes cannot be written', error, { path });
      }
    }
    this.#writing.delete(podUid);
  }
}

// A uid in a manifest may have any characters, a file name may not.
function encodeName(podUid: string): string {
  return `${encodeURIComponent(podUid).replaceAll('.', '%2E')}${SUFFIX}`;
}

function decodeName(name: string): string {
  return decodeURIComponent(name.slice(0, -SUFFIX.length));
}

function formatRecord(containers: ReadonlyMap<string, RememberedProbes>): string {
  return `${JSON.stringify({ containers: Object.fromEntries(containers) })}\n`;
}

/** Lenient: a record in another version's form counts as missing. */
function parseRecord(text: string): Map<string, RememberedProbes> {
  const { containers } = JSON.parse(text) as { containers?: Record<string, Record<string, unknown> | null> };
  return new Map(
    Object.entries(containers ?? {}).map(([id, found]) => [
      id,
      {
        ...(typeof found?.['ready'] === 'boolean' ? { ready: found['ready'] } : {}),
        ...(typeof found?.['started'] === 'boolean' ? { started: found['started'] } : {}),
      },
    ]),
  );
}
