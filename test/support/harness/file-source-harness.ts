import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as realSleep } from 'node:timers/promises';
import { formatConfigProblem } from '../../../src/node/desired/config-problem.js';
import {
  FILE_SOURCE,
  FileSource,
  type FileSourceOptions,
} from '../../../src/node/desired/sources/file-source.js';
import {
  type FileContent,
  type FolderLook,
  type ManifestFiles,
  ManifestFolder,
} from '../../../src/node/desired/sources/manifest-folder.js';
import { INLINE_PARSER } from '../../../src/node/desired/manifests/parse-manifest.js';
import { PodConfig } from '../../../src/node/desired/pod-config.js';
import { ProblemBook } from '../../../src/node/desired/problem-book.js';
import { type FolderChange } from '../../../src/node/desired/sources/watch-folder.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { type LogFields, SILENT_LOGGER } from '#base/log/logger.js';
import { FakeClock } from '#testing/fake-clock.js';

const LIMIT_MS = 30_000;

/** The disk; a call may be made to fail or to hang. */
class Disk implements ManifestFiles {
  readonly #folder: ManifestFolder;
  inFlight = 0;
  lookFailure: Error | undefined;
  readFailures = new Map<string, string>();
  hang: Promise<void> | undefined;

  constructor(path: string) {
    this.#folder = new ManifestFolder(path);
  }

  async look(wasFile: boolean): Promise<FolderLook> {
    if (this.hang !== undefined) await this.hang;
    if (this.lookFailure !== undefined) throw this.lookFailure;
    return this.#counted(this.#folder.look(wasFile));
  }

  async read(folder: string, name: string): Promise<FileContent> {
    const why = this.readFailures.get(name);
    if (why !== undefined) return { kind: 'unreadable', why };
    return this.#counted(this.#folder.read(folder, name));
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.inFlight++;
    try {
      return await call;
    } finally {
      this.inFlight--;
    }
  }
}

/** A source over a real folder, with a clock and a watch that the test moves. */
export class FileSourceHarness implements AsyncDisposable {
  readonly root: string;
  readonly folder: string;
  clock = new FakeClock();
  disk: Disk;
  told: string[] = [];
  solved: string[] = [];
  logged: string[] = [];
  config = new PodConfig();
  deliveries: (readonly NodePod[])[] = [];
  problems = new ProblemBook();
  looks = 0;
  watched: string[] = [];
  touch: (name?: string, change?: FolderChange) => void = () => undefined;
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  readonly #leave = sourceLookEnded.subscribe(({ source }) => {
    if (source === FILE_SOURCE) this.looks++;
  });

  private constructor(root: string) {
    this.root = root;
    this.folder = join(root, 'pods');
    this.disk = new Disk(this.folder);
  }

  static async open({ withFolder = true } = {}): Promise<FileSourceHarness> {
    const lab = new FileSourceHarness(await mkdtemp(join(tmpdir(), 'podloop-file-source-')));
    if (withFolder) await mkdir(lab.folder);
    return lab;
  }

  get lastGoodFolder(): string {
    return join(this.root, 'last-good');
  }

  /** Starts the agent's part again; `path` is below the root. */
  start(path = 'pods', options: Partial<FileSourceOptions> = {}): void {
    this.#stop = new AbortController();
    this.clock = new FakeClock();
    this.disk = new Disk(join(this.root, path));
    [this.told, this.solved, this.deliveries, this.looks] = [[], [], [], 0];
    const strip = (text: string): string => text.replaceAll(`${this.root}/`, '');
    this.problems = new ProblemBook({
      onProblem: (problem) => this.told.push(strip(formatConfigProblem(problem))),
      onSolved: (problem) => this.solved.push(strip(formatConfigProblem(problem))),
    });
    this.config = new PodConfig({ problems: this.problems });
    const port = this.config.addSource(FILE_SOURCE);
    const source = new FileSource({
      ...{ path: join(this.root, path), nodeName: 'node', problems: this.problems, parser: INLINE_PARSER },
      ...{ lastGoodFolder: this.lastGoodFolder, clock: this.clock, files: this.disk },
      port: {
        deliver: (pods, delivery) => {
          this.deliveries.push(pods);
          port.deliver(pods, delivery);
        },
      },
      logger: {
        ...SILENT_LOGGER,
        info: (message: string, fields: LogFields = {}, v = 0) => {
          if (v === 0) this.logged.push(`${message} ${strip(String(fields['path']))}`);
        },
        warn: (message: string) => this.logged.push(message),
      },
      watch: (folder, { onChange }) => {
        this.watched.push(strip(folder));
        this.touch = (name, change) => onChange(name, change);
        return { close: () => (this.touch = () => undefined) };
      },
      ...options,
    });
    this.#running = source.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
  }

  async put(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
    this.touch(name);
  }

  /** As tools do that write a file elsewhere first. */
  async moveIn(name: string, text: string): Promise<void> {
    await writeFile(join(this.root, 'elsewhere'), text);
    await rename(join(this.root, 'elsewhere'), join(this.folder, name));
    this.touch(name, 'named');
  }

  /** `name:image`, sorted, of the last delivery. */
  get pods(): string[] {
    const last = this.deliveries.at(-1) ?? [];
    return last.map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0]!.image}`).sort();
  }

  async until(condition: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + LIMIT_MS;
    while (!condition()) {
      if (performance.now() > giveUpAt) {
        throw new Error(
          `in vain waited for ${condition.toString()}: ${JSON.stringify([this.pods, this.told])}`,
        );
      }
      await this.#step();
    }
  }

  /** Lets so much time go by, looks and what they read included. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + ms;
    while (this.clock.monotonicMs() < untilMs) await this.#step();
  }

  /** Time stands still while the real disk works: else it would seem to hang. */
  async #step(): Promise<void> {
    if (this.disk.inFlight > 0) await realSleep(1);
    else await this.clock.advance(25);
  }

  async untilPods(...pods: string[]): Promise<void> {
    await this.until(() => this.pods.join() === [...pods].sort().join() && this.deliveries.length > 0);
  }

  async moreLooks(count: number): Promise<void> {
    const enough = this.looks + count;
    await this.until(() => this.looks >= enough);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#leave();
    await rm(this.root, { recursive: true, force: true });
  }
}
