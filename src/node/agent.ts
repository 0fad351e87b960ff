/**
 * The composition root of the node agent, which keeps the pods of its manifests running.
 *
 * ```
 * sources ─► config ─────────────────────────────────┐
 * runtime ─► event generator ─► events ─► sync loop ─┴► pod workers ─► syncPod ─► runtime
 *                    └─► cache ─► probes, statuses, collectors
 * ```
 *
 * In: options (see {@link AGENT_OPTIONS}). Out: pods as their manifests say, their statuses and events.
 * Start-up follows the flow of data and fails before anything is changed. Shutdown goes the other way: first
 * nothing new starts, then calls of the runtime settle, and the pods stay as they are.
 *
 * @module
 */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cri, LABELS, type Subscription } from '#watch';
import { type PodStatusRecord, type StatusChanges } from './status/status-changes.js';
import { type SyncLoopState } from './pods/loop/sync-loop.js';
import { aboutFolder } from '#base/errors/errors.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { type AgentRuntime } from './agent-runtime.js';
import { type AgentOptions } from './options/agent-options.js';
import { type AgentParts } from './parts/agent-parts.js';
import { PartList } from './parts/part-list.js';
import { runningParts } from './parts/running-parts.js';
import { type AgentPorts, type StartedParts, startParts } from './parts/start-parts.js';
import { untilBatchEnds } from './batch-end.js';
import { type NodeIdentity } from './resources/facts/node-identity.js';
import { type RecordedPodEvent } from './telemetry/reports/pod-event-log.js';
import { type PodLine, toPodLines } from './telemetry/reports/pod-lines.js';
import { stopPods } from './stop-pods.js';

export { type AgentPorts } from './parts/start-parts.js';

/** Why the agent ended, and what happened to its pods. */
export interface AgentEnd {
  /** Why a batch did not succeed as a whole; empty when it did. Undefined when the agent was asked to end. */
  readonly failures: readonly string[] | undefined;
  /** What happened to the pods; `not all stopped`: some are left although they were to be stopped. */
  readonly pods: 'left as they are' | 'stopped' | 'not all stopped';
}

/** How long everything together may take to settle at the end, in milliseconds. */
const SETTLE_LIMIT_MS = 30_000;
/** How long the runtime may take to list pods. */
const LIST_MS = 10_000;
/** A list that takes longer makes people ask why nothing changes. */
const SILENT_AFTER_MS = 3_000;

/** A node agent. */
export class Agent implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #ports: AgentPorts;
  readonly #list: PartList;
  readonly #started: StartedParts;
  readonly #parts: AgentParts;
  #closing: Promise<void> | undefined;

  /**
   * Claims the root folder, finds or starts the runtime, and reads the state that earlier agents have left.
   *
   * Rejects with NODE_ROOT_IN_USE, ENDPOINT_…, CGROUP_DRIVER_CONFLICT or OPTION_INVALID, leaving nothing
   * behind.
   */
  static async start(options: AgentOptions, ports: AgentPorts, signal: AbortSignal): Promise<Agent> {
    const { clock, logger, onStart } = ports;
    const list = new PartList({ clock, logger, onStart, stopLimitMs: SETTLE_LIMIT_MS });
    try {
      return new Agent(options, ports, list, await startParts(list, options, ports, signal));
    } catch (error) {
      await list.stop();
      throw aboutFolder(error, '--root-dir', options.rootDir);
    }
  }

  private constructor(options: AgentOptions, ports: AgentPorts, list: PartList, started: StartedParts) {
    this.#options = options;
    this.#ports = ports;
    this.#list = list;
    this.#started = started;
    this.#parts = started.parts;
  }

  get identity(): NodeIdentity {
    return this.#started.identity;
  }

  get runtime(): Pick<AgentRuntime, 'url' | 'name' | 'version'> {
    return this.#started.connected;
  }

  /** Where the API of this agent listens. */
  get socket(): string {
    return this.#started.api.socket;
  }

  /** The log of an embedded runtime of this agent. */
  get runtimeLog(): string {
    return join(this.#options.rootDir, 'runtime', 'runtime.log');
  }

  /** The status of every pod, in the order in which they were first seen. */
  statuses(): PodStatusRecord[] {
    return this.#parts.manager.list();
  }

  /** The present problems of manifests, one sentence each. */
  manifestProblems(): string[] {
    return this.#parts.sources.config.problems().map((problem) => this.#parts.sources.format(problem));
  }

  /** A line for every pod, as in `kubectl get pods`. */
  pods(): PodLine[] {
    const { manager, workers } = this.#parts;
    return toPodLines({
      records: manager.list(),
      findPod: (uid) => manager.findPod(uid),
      isTerminating: (uid) => workers.isTerminationRequested(uid),
      findCreatedMs: (uid) => this.#started.api.findCreatedMs(uid),
    });
  }

  /** The present state of the sync loop. */
  loopState(): SyncLoopState {
    return this.#parts.loop.state();
  }

  /** Why the runtime cannot be seen now, in one sentence; undefined while it answers and is well. */
  runtimeTrouble(): string | undefined {
    const { runtimeState, pleg } = this.#parts;
    if (runtimeState.isPending()) return undefined;
    const { listInFlightMs = 0 } = pleg.health();
    if (listInFlightMs >= SILENT_AFTER_MS) {
      return `it has not answered the list of pods for ${Math.floor(listInFlightMs / 1_000)}s`;
    }
    return runtimeState.isAnswered ? runtimeState.errors()[0] : 'it does not answer';
  }

  /** Changes of statuses from now on, for one reader. */
  watchStatuses(): StatusChanges {
    return this.#parts.manager.subscribe();
  }

  /** Lifecycle events of every pod of the runtime from now on, for one reader. */
  subscribe(): Subscription {
    return this.#parts.pleg.subscribe();
  }

  /** Events of pods, in Kubernetes' words. */
  podEvents(): RecordedPodEvent[] {
    return this.#parts.events.list();
  }

  /**
   * Runs the pods until the signal aborts, or with exitWhenDone until every pod has ended.
   *
   * Resolves once nothing new starts and calls of the runtime have settled; the log names what does not
   * settle in time. {@link Agent.close} it afterwards. Calls `onRunning` once all parts run and the sync loop
   * has turned, whatever the state of the runtime then. It never does so when the agent is asked to end
   * before, or when a part fails at once.
   */
  async run(signal: AbortSignal, onRunning: () => void = () => undefined): Promise<AgentEnd> {
    const { clock, logger, version = 'unknown' } = this.#ports;
    const [options, started, parts] = [this.#options, this.#started, this.#parts];
    const failed = new AbortController();
    const onFailure = (error: unknown): void => failed.abort(error);
    const keep = this.#list.length;
    let failures: AgentEnd['failures'];
    let pods: AgentEnd['pods'] = 'left as they are';
    try {
      const { ending } = started;
      const asked = AbortSignal.any([signal, ending.signal]);
      const given = { options, started, asked, onFailure, version, clock, logger };
      for (const part of runningParts(given)) await this.#list.start(part, signal);
      const end = AbortSignal.any([asked, failed.signal]);
      // A part that cannot start at all has failed by then.
      await nextTurn();
      if (!end.aborted) onRunning();
      failures = await this.#untilEnd(end);
      if (options.stopPods || ending.signal.aborted) {
        await started.link?.leave();
        pods = (await stopPods({ parts, clock, logger })) ? 'stopped' : 'not all stopped';
        ending.answer(pods);
        // Those who wait for it get the outcome before the API closes.
        await nextTurn();
      }
    } finally {
      await this.#list.stop(keep);
    }
    // The first part that failed, before all were asked to end or after.
    failed.signal.throwIfAborted();
    return { failures, pods };
  }

  /** Its pods that run by what the runtime says, as `namespace/name`; also before {@link Agent.run}. */
  async listRunningPods(): Promise<string[]> {
    const { connected, identity } = this.#started;
    const labelSelector = { [LABELS.nodeInstance]: identity.instanceId };
    const { items } = await connected.client.listPodSandbox(
      { filter: { labelSelector } },
      { timeoutMs: LIST_MS },
    );
    const running = items.filter(({ state }) => state === cri.PodSandboxState.SANDBOX_READY);
    return running.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).sort();
  }

  /** The claims that have a volume of this node, as `namespace/name`. */
  claims(): string[] {
    return this.#parts.localClaims.list().map(({ namespace, name }) => `${namespace}/${name}`);
  }

  /** Has {@link Agent.run} stop all pods and end, as when a client asks for it. Idempotent. */
  endWithPods(): void {
    this.#started.ending.ask();
  }

  /** Closes the connection and releases the root folder. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#list.stop();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Why a batch failed, once it has ended; undefined when the agent is asked to end before. */
  async #untilEnd(signal: AbortSignal): Promise<readonly string[] | undefined> {
    if (this.#options.exitWhenDone) return await untilBatchEnds(this.#parts, this.#ports, signal);
    await untilAborted(signal);
    return undefined;
  }
}
