import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type RecordFile } from '#base/fs/record-file.js';
import { RecordFolder } from '#base/fs/record-folder.js';
import { isRecord } from '#base/text/is-record.js';
import { makeFolder } from '#base/fs/make-folder.js';

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

/** By the ids of containers. */
type PodProbes = ReadonlyMap<string, RememberedProbes>;

/**
 * A {@link ProbeMemory} in files: one per pod, written as a whole, one write at a time per pod, only the
 * newest state.
 *
 * If the agent is killed between a change and its write, that one change is lost, and the probe finds it
 * again. Therefore nothing is flushed to disk at once (no container survives a power cut), and an unreadable
 * file counts as missing.
 */
export class ProbeFiles implements ProbeMemory, AsyncDisposable {
  readonly #folder: RecordFolder<PodProbes>;
  readonly #pods: Map<string, Map<string, RememberedProbes>>;
  /** Of pods with writes under way. */
  readonly #writing = new Map<string, RecordFile<PodProbes>>();

  private constructor(folder: RecordFolder<PodProbes>, pods: ReadonlyMap<string, PodProbes>) {
    this.#folder = folder;
    this.#pods = new Map([...pods].map(([uid, containers]) => [uid, new Map(containers)]));
  }

  /** Reads all files. Rejects only when the folder can be neither created nor listed. */
  static async open({ folder: path, logger }: ProbeFilesOptions): Promise<ProbeFiles> {
    const folder = new RecordFolder<PodProbes>({
      ...{ folder: path, parse, durable: false },
      format: (containers) => ({ containers: Object.fromEntries(containers) }),
      names: { toName: encodeName, toKey: decodeURIComponent },
      later: {
        onError: (error) => logger.error('Record of probes cannot be written', error, { path }),
      },
    });
    await makeFolder(path, 0o700);
    const { values, unreadable } = await folder.load();
    for (const { path: file, error } of unreadable) {
      logger.warn('Record of probes cannot be read, probes start over', {
        path: file,
        err: messageOf(error),
      });
    }
    return new ProbeFiles(folder, values);
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
    await Promise.all([...this.#writing.values()].map(async (file) => file.flush()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #save(podUid: string): void {
    const file = this.#writing.get(podUid) ?? this.#folder.fileOf(podUid);
    this.#writing.set(podUid, file);
    file.writeSoon(() => {
      const containers = this.#pods.get(podUid);
      return containers === undefined || containers.size === 0 ? undefined : containers;
    });
    void file.flush().then(() => {
      if (file.isIdle) this.#writing.delete(podUid);
    });
  }
}

// A uid in a manifest may have any characters, a file name may not.
function encodeName(podUid: string): string {
  return encodeURIComponent(podUid).replaceAll('.', '%2E');
}

/** Lenient: parts of another form count as missing. */
function parse({ containers }: Readonly<Record<string, unknown>>): PodProbes {
  const entries = Object.entries(isRecord(containers) ? containers : {});
  return new Map(
    entries.map(([id, found]) => {
      const { ready, started } = (found ?? {}) as RememberedProbes;
      return [
        id,
        {
          ...(typeof ready === 'boolean' ? { ready } : {}),
          ...(typeof started === 'boolean' ? { started } : {}),
        },
      ];
    }),
  );
}
