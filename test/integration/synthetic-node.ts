import { setImmediate as nextTurn } from 'node:timers/promises';
import { vi } from 'vitest';
import { CriClient } from '../../src/watch/cri/client.js';
import {
  type ContainerLifecycleEvent,
  type PodLifecycleEvent,
} from '../../src/watch/pleg/pod-lifecycle-event.js';
import { Pleg } from '../../src/watch/pleg/pleg.js';
import { type PlegOptions } from '../../src/watch/pleg/pleg-options.js';
import { type Subscription } from '../../src/watch/pleg/subscription.js';
import { CriRuntime } from '../../src/watch/observed/cri-runtime.js';
import {
  type SpawnedSyntheticRuntime,
  type SyntheticControl,
  type SyntheticRuntimeOptions,
  spawnSyntheticRuntime,
} from '#testing/synthetic-runtime/index.js';

/** What a test may say of the generator; the runtime is the harness's. */
export type AgentOptions = Omit<PlegOptions, 'runtime'>;

/** A synthetic runtime in its own process, and any number of agents that look at it. */
export class SyntheticNode implements AsyncDisposable {
  readonly #runtime: SpawnedSyntheticRuntime;
  readonly #agents: Agent[] = [];

  static async start(options: SyntheticRuntimeOptions): Promise<SyntheticNode> {
    return new SyntheticNode(await spawnSyntheticRuntime(options));
  }

  private constructor(runtime: SpawnedSyntheticRuntime) {
    this.#runtime = runtime;
  }

  get control(): SyntheticControl {
    return this.#runtime.control;
  }

  /** A new client, runtime and generator, as after a start of the agent. */
  createAgent(options: AgentOptions = {}): Agent {
    const agent = new Agent(this.#runtime.endpoint, options);
    this.#agents.push(agent);
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents) await agent.close();
    await this.#runtime.close();
  }
}

/** Client, runtime and generator, wired as the agent wires them. */
export class Agent {
  readonly client: CriClient;
  readonly pleg: Pleg;
  readonly #stop = new AbortController();
  readonly #subscriptions: Subscription[] = [];
  #running: Promise<void> | undefined;

  constructor(endpoint: string, options: AgentOptions) {
    this.client = new CriClient({ endpoint });
    this.pleg = new Pleg({ ...options, runtime: new CriRuntime({ client: this.client }) });
  }

  /** Runs the generator until the agent is closed. */
  run(): void {
    this.#running = this.pleg.run(this.#stop.signal);
  }

  /** A subscription that ends with the agent; nothing reads it yet. */
  subscribe(): Subscription {
    const subscription = this.pleg.subscribe();
    this.#subscriptions.push(subscription);
    return subscription;
  }

  /** Subscribes and reads everything at once. */
  record(): EventLog {
    return new EventLog(this.subscribe());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    for (const subscription of this.#subscriptions) subscription.close();
    this.client.close();
  }
}

/** Everything that a subscription gave, in order. */
export class EventLog {
  readonly events: PodLifecycleEvent[] = [];
  /** Ends with the subscription. */
  readonly ended: Promise<void>;
  readonly #subscription: Subscription;

  constructor(subscription: Subscription) {
    this.#subscription = subscription;
    this.ended = this.#read(subscription);
  }

  /** Resolves when everything that has been handed out is in the log. */
  async catchUp(): Promise<void> {
    while (this.#subscription.stats.queued > 0) await nextTurn();
    await nextTurn();
  }

  /** The changes of containers, and of sandboxes too if told. */
  changes({ sandboxes = false } = {}): ContainerLifecycleEvent[] {
    return this.events
      .filter((event): event is ContainerLifecycleEvent => 'containerId' in event)
      .filter(({ kind }) => sandboxes || kind === 'container');
  }

  /** Ids of the containers that died, in the order of the events; one that came twice is there twice. */
  deaths(): string[] {
    return this.changes()
      .filter(({ type }) => type === 'ContainerDied')
      .map(({ containerId }) => containerId);
  }

  /** Uids of the pods that any event was about. */
  podsHeardOf(): Set<string> {
    return new Set(this.events.flatMap((event) => ('pod' in event ? [event.pod.uid] : [])));
  }

  clear(): void {
    this.events.length = 0;
  }

  async #read(subscription: Subscription): Promise<void> {
    for await (const event of subscription) this.events.push(event);
  }
}

/** Waits until `check` no longer throws; a loaded machine gets time, a hang does not. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return await vi.waitFor(check, { timeout: 30_000, interval: 10 });
}
