import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { Agent } from '../../../src/node/agent.js';
import { resolveAgentOptions } from '../../../src/node/options/resolve-agent-options.js';
import { INLINE_PARSER } from '../../../src/node/desired/manifests/parse-manifest.js';
import { CriClient } from '../../../src/watch/cri/index.js';
import { PodPaths } from '../../../src/watch/observed/pod-paths.js';
import { type PodStatusRecord } from '../../../src/node/status/status-changes.js';
import { type LogindPort } from '../../../src/node/resources/shutdown/logind.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type StoryNode } from './play-story.js';
import { readLogLines } from './read-log-lines.js';

/** What an {@link AgentNode} is made of. */
export interface AgentNodeOptions {
  /** Of its own: manifests, records and logs go there. */
  readonly folder: string;
  readonly endpoint: string;
  readonly agent?: Partial<AgentOptions>;
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly logind?: LogindPort;
}

/** A node agent in this process, on whatever runtime listens at an endpoint. */
export class AgentNode implements StoryNode, AsyncDisposable {
  readonly manifestFolder: string;
  readonly agent: Agent;
  readonly #client: CriClient;
  readonly #paths: PodPaths;
  readonly #ending = new AbortController();
  readonly #running: Promise<unknown>;

  static async start({
    folder,
    endpoint,
    agent: more,
    logger = SILENT_LOGGER,
    clock = new SystemClock(),
    logind,
  }: AgentNodeOptions): Promise<AgentNode> {
    const podManifestPath = join(folder, 'manifests');
    await mkdir(podManifestPath, { recursive: true });
    const options = resolveAgentOptions({
      // Tests run beside one another: the kubelet's port is not for them.
      ...{ podManifestPath, runtimeEndpoint: endpoint, nodeName: 'test', readOnlyPort: 0 },
      ...{ rootDir: join(folder, 'node'), podLogsDir: join(folder, 'pod-logs') },
      ...more,
    });
    const ports = {
      ...{ clock, logger, stdin: new PassThrough(), pid: process.pid },
      podloopCommand: ['podloop'] as const,
      manifestParser: INLINE_PARSER,
      ...(logind === undefined ? {} : { logind }),
    };
    const agent = await Agent.start(options, ports, new AbortController().signal);
    return new AgentNode(agent, podManifestPath, endpoint, new PodPaths(options));
  }

  private constructor(agent: Agent, manifestFolder: string, endpoint: string, paths: PodPaths) {
    this.agent = agent;
    this.manifestFolder = manifestFolder;
    this.#paths = paths;
    this.#client = new CriClient({ endpoint });
    this.#running = agent.run(this.#ending.signal);
    // Seen by whoever ends it.
    this.#running.catch(() => undefined);
  }

  eventsOf(podName: string): readonly string[] {
    const events = this.agent.podEvents().filter(({ pod }) => pod.name === `${podName}-test`);
    return events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async logOf(podName: string, container: string): Promise<string[]> {
    const pod = this.#record(podName)?.pod;
    return pod === undefined ? [] : readLogLines(this.#paths.containerLogDir(pod, container));
  }

  /** By the runtime, without grace: behind the agent's back. */
  async kill(podName: string, container: string, signal: AbortSignal): Promise<void> {
    const containerId = await this.#containerId(podName, container, signal);
    await this.#client.stopContainer({ containerId, timeout: 0n }, { signal });
  }

  async execute(podName: string, container: string, script: string, signal: AbortSignal): Promise<void> {
    const containerId = await this.#containerId(podName, container, signal);
    const cmd = ['sh', '-c', script];
    const { exitCode, stderr } = await this.#client.execSync({ containerId, cmd, timeout: 0n }, { signal });
    if (exitCode !== 0) throw new Error(`it ended with ${exitCode}: ${Buffer.from(stderr).toString()}`);
  }

  /** Ends the agent; the pods stay. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    await this.agent.close();
    this.#client.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #record(podName: string): PodStatusRecord | undefined {
    return this.agent.statuses().find(({ pod }) => pod.name === `${podName}-test`);
  }

  /** A container may have written something before the agent tells of it. */
  async #containerId(podName: string, container: string, signal: AbortSignal): Promise<string> {
    for (;;) {
      const { initContainerStatuses = [], containerStatuses = [] } = this.#record(podName)?.status ?? {};
      const status = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
      const id = status?.containerID?.replace(/^.*:\/\//, '') ?? '';
      if (id !== '') return id;
      await sleep(20, undefined, { signal });
    }
  }
}
