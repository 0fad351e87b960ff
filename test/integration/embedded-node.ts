import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CriClient, cri } from '../../src/watch/cri/index.js';
import { EmbeddedRuntime, type EmbeddedRuntimeOptions } from '../../src/box/index.js';

export const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = cri.ContainerState;
export const { SANDBOX_READY, SANDBOX_NOTREADY } = cri.PodSandboxState;
export const HOST_IMAGE = 'podloop.local/host';

/** What the runtime of a test is told besides where it listens; without isolation unless told. */
export type EmbeddedNodeOptions = Pick<
  EmbeddedRuntimeOptions,
  'isolation' | 'network' | 'imageDirs' | 'registry' | 'eventQueueCapacity'
>;

/** The isolations that can be tried here: namespaces need root. */
export const ISOLATIONS: readonly ('none' | 'namespaces')[] =
  process.getuid?.() === 0 ? ['none', 'namespaces'] : ['none'];

/** Where one embedded runtime of a test has its files, and a client of it. */
export class EmbeddedNode implements AsyncDisposable {
  readonly folder: string;
  readonly client: CriClient;
  runtime: EmbeddedRuntime | undefined;

  readonly #options: EmbeddedNodeOptions;

  private constructor(folder: string, options: EmbeddedNodeOptions) {
    this.folder = folder;
    this.#options = options;
    this.client = new CriClient({ endpoint: this.listen });
  }

  /** A folder and a client; whoever serves is started later. */
  static async prepare(options: EmbeddedNodeOptions = {}): Promise<EmbeddedNode> {
    return new EmbeddedNode(await mkdtemp(join(tmpdir(), 'podloop-embedded-')), options);
  }

  /** With the runtime inside of this process. */
  static async start(options: EmbeddedNodeOptions = {}): Promise<EmbeddedNode> {
    const node = await EmbeddedNode.prepare(options);
    await node.startInside();
    return node;
  }

  async startInside(): Promise<void> {
    const { listen, root: rootDir } = this;
    this.runtime = await EmbeddedRuntime.start({ isolation: 'none', ...this.#options, listen, rootDir });
  }

  /** What a runtime that is started as a program must be told. */
  get args(): string[] {
    const { isolation = 'none', network, imageDirs = [] } = this.#options;
    return [
      ...['--listen', this.listen, '--root', this.root, '--isolation', isolation],
      ...(network === undefined ? [] : ['--network', network]),
      ...imageDirs.flatMap((folder) => ['--image-dir', folder]),
    ];
  }

  get listen(): string {
    return `unix://${this.folder}/cri.sock`;
  }

  get root(): string {
    return join(this.folder, 'root');
  }

  get logs(): string {
    return join(this.folder, 'logs');
  }

  async runPod(name: string, more: Partial<cri.PodSandboxConfig> = {}): Promise<string> {
    const config = { ...this.podConfig(name), ...more };
    return (await this.client.runPodSandbox({ config })).podSandboxId;
  }

  podConfig(name: string): cri.DeepPartial<cri.PodSandboxConfig> {
    return {
      metadata: { name, namespace: 'test', uid: `uid-${name}`, attempt: 0 },
      logDirectory: this.logs,
      labels: { app: name },
    };
  }

  /** A container whose command is a shell script. */
  async create(sandbox: string, name: string, script: string, more: ContainerParts = {}): Promise<string> {
    const config = {
      metadata: { name, attempt: 0 },
      image: { image: HOST_IMAGE },
      command: ['sh', '-c', script],
      logPath: `${name}.log`,
      ...more,
    };
    const { containerId } = await this.client.createContainer({ podSandboxId: sandbox, config });
    return containerId;
  }

  async run(sandbox: string, name: string, script: string, more: ContainerParts = {}): Promise<string> {
    const id = await this.create(sandbox, name, script, more);
    await this.client.startContainer({ containerId: id });
    return id;
  }

  async status(containerId: string): Promise<cri.ContainerStatus> {
    const { status } = await this.client.containerStatus({ containerId });
    if (status === undefined) throw new Error('no status in the answer');
    return status;
  }

  async exited(containerId: string): Promise<cri.ContainerStatus> {
    return until(
      () => this.status(containerId),
      (status) => status.state === CONTAINER_EXITED,
    );
  }

  async log(name: string): Promise<string> {
    return readFile(join(this.logs, `${name}.log`), 'utf8').catch(() => '');
  }

  /** Removes every pod. */
  async clear(): Promise<void> {
    const { items } = await this.client.listPodSandbox({});
    await Promise.all(items.map(({ id }) => this.client.removePodSandbox({ podSandboxId: id })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#removePods();
    } finally {
      this.client.close();
      await this.runtime?.close();
      await rm(this.folder, { recursive: true, force: true });
    }
  }

  /** Also after a test that failed half way: pods outlive the runtime that ran them. */
  async #removePods(): Promise<void> {
    const left = await readdir(join(this.root, 'sandboxes')).catch(() => []);
    if (left.length === 0) return;
    const answers = async (): Promise<boolean> =>
      this.client.version({}).then(
        () => true,
        () => false,
      );
    if (!(await answers())) await this.startInside();
    // A connection that was refused is tried again after a while.
    await until(answers, (is) => is);
    await this.clear();
  }
}

export type ContainerParts = cri.DeepPartial<cri.ContainerConfig>;

/**
 * Asks until the answer is as wanted; the test's own limit ends it. It waits between two questions for at least four times as long
 * as one takes: on a slow machine the asking must not take the time from what is waited for.
 */
export async function until<T>(ask: () => T | Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const askedAt = performance.now();
    const answer = await ask();
    if (wanted(answer)) return answer;
    const pauseMs = Math.max(5, 4 * (performance.now() - askedAt));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** What a log says, without the times: `stdout F hello`. */
export function logLines(log: string): string[] {
  return log
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(line.indexOf(' ') + 1));
}
