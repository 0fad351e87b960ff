import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

/** What is polled for on such a node. */
export const NODE_LIMIT = { timeout: patiently(120_000), interval: 300 };

/** A `podloop run` of a folder on the embedded runtime, with pods in a network of their own. Needs root and a build. */
export class BridgeNode implements AsyncDisposable {
  readonly #manifests: string;
  readonly #folder: string;
  #agent: PodloopProcess;

  /** Its pods may not run yet. */
  static async start(manifests: string): Promise<BridgeNode> {
    return new BridgeNode(manifests, await mkdtemp(join(tmpdir(), 'podloop-bridge-node-')));
  }

  private constructor(manifests: string, folder: string) {
    this.#manifests = manifests;
    this.#folder = folder;
    this.#agent = this.#startAgent();
  }

  get #rootDir(): string {
    return join(this.#folder, 'node');
  }

  /** Runs a command of podloop that asks this agent. */
  async podloop(...args: string[]): ReturnType<typeof runPodloop> {
    return runPodloop(args, { env: { PODLOOP_SOCKET: join(this.#rootDir, 'podloop.sock') } });
  }

  /** What a command prints that has to succeed and to complain of nothing. */
  async printed(...args: string[]): Promise<string> {
    const { stdout, stderr, code } = await this.podloop(...args);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.trim();
  }

  /** Resolves once so many pods of one container are ready. */
  async untilReady(count: number): Promise<void> {
    await vi.waitFor(async () => {
      const rows = (await this.printed('get', 'pods', '--no-headers')).split('\n');
      expect(rows.filter((row) => /\s1\/1\s/.test(row))).toHaveLength(count);
    }, NODE_LIMIT);
  }

  /** Kills the agent as a crash would, and starts it again; the pods go on. */
  async killAgent(): Promise<void> {
    await this.#agent.end('SIGKILL');
    this.#agent = this.#startAgent();
  }

  /** Ends pods, runtime and agent. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.podloop('down', '--yes', '--root-dir', this.#rootDir);
    await this.#agent.end('SIGTERM');
    await untilNobodyNames(this.#folder);
    await rm(this.#folder, { recursive: true });
  }

  #startAgent(): PodloopProcess {
    const place = ['--root-dir', this.#rootDir, '--pod-logs-dir', join(this.#folder, 'logs')];
    const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'namespaces', '--network', 'bridge'];
    return new PodloopProcess(['run', this.#manifests, ...place, ...runtime, '--node-name', 'n1']);
  }
}

/** The body that this machine gets from an HTTP server; the code of the error if there is none. */
export function visit(host: string, port = 80): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ host, port, agent: false, timeout: 10_000 }, (answer) => resolve(text(answer)));
    asked.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asked.on('timeout', () => asked.destroy(new Error('late'))).end();
  });
}
