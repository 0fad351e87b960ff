import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { AgentNode } from '../pod-stories/agent-node.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { relistEnded } from '#base/channels/pleg-channels.js';
import { podSyncEnded } from '#base/channels/worker-channels.js';
import { MemoryRuntime } from './memory-runtime.js';

/** How much an agent has done so far. */
export interface Effort {
  readonly relistsOfAll: number;
  readonly relistsOfOne: number;
  readonly syncs: number;
  /** CRI calls, by method. */
  readonly calls: ReadonlyMap<string, number>;
}

/** A runtime in memory, a folder of manifests, and one agent after the other on them. */
export class ScaleNode implements AsyncDisposable {
  readonly folder: string;
  readonly runtime: MemoryRuntime;
  /** What the agents complained of. */
  readonly complaints: string[] = [];
  node: AgentNode | undefined;
  readonly #unsubscribe: (() => void)[] = [];
  #relistsOfAll = 0;
  #relistsOfOne = 0;
  #syncs = 0;

  static async prepare(): Promise<ScaleNode> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-scale-'));
    await mkdir(join(folder, 'manifests'));
    return new ScaleNode(folder, await MemoryRuntime.start());
  }

  private constructor(folder: string, runtime: MemoryRuntime) {
    this.folder = folder;
    this.runtime = runtime;
    this.#unsubscribe.push(
      relistEnded.subscribe(({ scope }) => {
        if (scope === 'all') this.#relistsOfAll++;
        else this.#relistsOfOne++;
      }),
      podSyncEnded.subscribe(() => this.#syncs++),
    );
  }

  async startAgent(agent: Partial<AgentOptions> = {}): Promise<AgentNode> {
    const { folder, runtime } = this;
    const logger: Logger = {
      ...SILENT_LOGGER,
      warn: (message) => this.complaints.push(message),
      error: (message, error) => this.complaints.push(`${message}: ${String(error)}`),
    };
    const options = { maxPods: 1_000, ...agent };
    this.node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: options, logger });
    return this.node;
  }

  async stopAgent(): Promise<void> {
    await this.node?.stop();
    this.node = undefined;
  }

  async writeManifest(name: string, more: { readonly arg?: string } = {}): Promise<void> {
    const spec = {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'main',
          image: 'registry.test/app:1',
          imagePullPolicy: 'IfNotPresent',
          args: [more.arg ?? 'a'],
        },
      ],
    };
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    await writeFile(this.#fileOf(name), JSON.stringify(manifest));
  }

  async removeManifest(name: string): Promise<void> {
    await rm(this.#fileOf(name));
  }

  effort(): Effort {
    const { calls } = this.runtime;
    return {
      relistsOfAll: this.#relistsOfAll,
      relistsOfOne: this.#relistsOfOne,
      syncs: this.#syncs,
      calls: new Map(calls),
    };
  }

  /** Names of the pods whose containers all run, as the agent sees them. */
  runningNames(): string[] {
    const records = this.node!.agent.statuses();
    return records
      .filter(
        ({ status }) => status.phase === 'Running' && status.containerStatuses.every(({ ready }) => ready),
      )
      .map(({ pod }) => pod.name.replace(/-test$/, ''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAgent();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.runtime[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  #fileOf(name: string): string {
    return join(this.folder, 'manifests', `${name}.json`);
  }
}

/** What came between two looks. */
export function effortSince(before: Effort, after: Effort): Effort {
  const calls = [...after.calls].map(
    ([name, count]) => [name, count - (before.calls.get(name) ?? 0)] as const,
  );
  return {
    relistsOfAll: after.relistsOfAll - before.relistsOfAll,
    relistsOfOne: after.relistsOfOne - before.relistsOfOne,
    syncs: after.syncs - before.syncs,
    calls: new Map(calls.filter(([, count]) => count > 0)),
  };
}
