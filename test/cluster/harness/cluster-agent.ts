import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unmountBelow } from '../../containerd/harness/leftovers.js';
import { PodloopProcess } from '../../integration/podloop-process.js';
import { type ControlPlane } from './control-plane.js';

/** The image that the embedded runtime always has. */
export const HOST_IMAGE = 'podloop.local/host';

/** Who gives a node its kubeconfig. */
type ClusterEntry = Pick<ControlPlane, 'nodeKubeconfig'>;

/** A `podloop run --kubeconfig` on the embedded runtime, with folders of its own. Needs a build. */
export class ClusterAgent implements AsyncDisposable {
  readonly nodeName: string;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly #args: readonly string[];
  #process: PodloopProcess | undefined;

  /** Starts it; it may not have joined yet. */
  static async start(plane: ClusterEntry, nodeName: string, ...args: string[]): Promise<ClusterAgent> {
    const agent = await ClusterAgent.prepare(plane, nodeName, ...args);
    agent.start();
    return agent;
  }

  /** Makes its folders and kubeconfig, and does not start it. */
  static async prepare(plane: ClusterEntry, nodeName: string, ...args: string[]): Promise<ClusterAgent> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-node-'));
    await mkdir(join(folder, 'manifests'));
    return new ClusterAgent(nodeName, folder, await plane.nodeKubeconfig(nodeName), args);
  }

  private constructor(nodeName: string, folder: string, kubeconfig: string, args: readonly string[]) {
    this.nodeName = nodeName;
    this.folder = folder;
    this.kubeconfig = kubeconfig;
    this.#args = args;
  }

  /** Its folder of static pods. */
  get manifests(): string {
    return join(this.folder, 'manifests');
  }

  get rootDir(): string {
    return join(this.folder, 'root');
  }

  get podLogsDir(): string {
    return join(this.folder, 'logs');
  }

  /** Starts it with these options of `podloop run` alone. */
  startAs(...options: readonly string[]): void {
    this.#process = new PodloopProcess(['run', ...options]);
  }

  /** Starts it again, after {@link kill}. */
  start(...more: string[]): void {
    const { nodeName } = this;
    this.startAs(
      ...[this.manifests, '--kubeconfig', this.kubeconfig, '--node-name', nodeName, '--node-ip', '127.0.0.1'],
      ...['--root-dir', this.rootDir, '--pod-logs-dir', this.podLogsDir],
      ...['--runtime-endpoint', 'embedded', '--network', 'host', '--read-only-port', '0', '-v', '3'],
      // The usual one is good for one node of a machine.
      ...['--port', '0'],
      ...this.#args,
      ...more,
    );
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#process?.stderr.join('\n') ?? '';
  }

  /** As a power cut would, but for its pods, which go on. */
  async kill(): Promise<void> {
    this.#process?.child.kill('SIGKILL');
    await this.#process?.ended;
  }

  /** Ends it and its pods, and with them the runtime. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.start('--stop-pods');
    const last = this.#process!;
    await Promise.race([last.line('stderr', /Started node agent/), last.ended]).catch(() => undefined);
    last.child.kill('SIGTERM');
    await last.ended;
    await unmountBelow(this.folder);
    // The runtime ends by itself once the agent has, and may write until then.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
