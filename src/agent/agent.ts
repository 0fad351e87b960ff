/**
 * The composition root of the node agent: it keeps the pods of its manifests running.
 *
 * ```
 * sources ─► config ─────────────────────────────────┐
 * runtime ─► event generator ─► events ─► sync loop ─┴► pod workers ─► syncPod ─► runtime
 *                    └─► cache ─► probes, statuses, collectors
 * ```
 *
 * In: options (see {@link AGENT_OPTIONS}). Out: pods as their manifests say, their statuses and events. Start-up goes
 * along the flow of data and fails before anything is changed; shutdown goes against it: first nothing new is begun,
 * then what was sent to the runtime settles, and the pods stay as they are.
 *
 * @module
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { type ManifestParser } from '../config/parse-manifest.js';
import { type Subscription } from '../pleg/index.js';
import { type PodStatusRecord, type StatusChanges } from '../status/status-changes.js';
import { type NodePod } from '../model/node-pod.js';
import { isTerminalPhase } from '../model/v1-pod-status.js';
import { isOwnPod } from '../sync/housekeeping-owner.js';
import { type SyncLoopState } from '../sync/sync-loop.js';
import { type Clock } from '../util/clock.js';
import { untilAborted } from '../util/until-aborted.js';
import { type FolderLock, lockFolder, NODE_ROOT_LOCK } from '../util/folder-lock.js';
import { type Logger } from '../util/logger.js';
import { AgentEnding } from './agent-ending.js';
import { type AgentOptions } from './agent-options.js';
import { type AgentParts, buildAgentParts } from './agent-parts.js';
import { type AgentRuntime, connectAgentRuntime } from './agent-runtime.js';
import { findNodeIp, type NodeIdentity, readInstanceId, resolveNodeName } from './node-identity.js';
import { type RecordedPodEvent } from './pod-event-log.js';
import { type PodLine, toPodLines } from './pod-lines.js';
import { recordProbeFailures } from './probe-events.js';

/** What an {@link Agent} is given besides its options. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stdin: Readable;
  readonly pid: number;
  /** What starts podloop, for the embedded runtime. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** Further flags of the embedded runtime. */
  readonly runtimeFlags?: readonly string[];
  /** Reads manifests; a thread of its own unless told. */
  readonly manifestParser?: ManifestParser;
}

/** How the agent was told to end, and what became of its pods. */
export type AgentEnd = 'interrupted' | 'all succeeded' | 'some failed';

/** How often it is looked whether every pod has ended, in milliseconds. */
const DONE_LOOK_MS = 200;
/** How long everything together may take to settle at the end, in milliseconds. */
const SETTLE_LIMIT_MS = 30_000;
/** How long the clean-up of pods may take beyond their grace period when they are stopped, in milliseconds. */
const STOP_LIMIT_MS = 30_000;
const DEFAULT_GRACE_SECONDS = 30;

/** A node agent. */
export class Agent implements AsyncDisposable {
  readonly identity: NodeIdentity;
  readonly runtime: Pick<AgentRuntime, 'url' | 'name' | 'version'>;
  readonly #options: AgentOptions;
  readonly #ports: AgentPorts;
  readonly #lock: FolderLock;
  readonly #connected: AgentRuntime;
  readonly #parts: AgentParts;
  #closing: Promise<void> | undefined;

  /**
   * Takes the root folder, finds or starts the runtime, and reads what earlier agents have left. Rejects with
   * NODE_ROOT_IN_USE, ENDPOINT_… or OPTION_INVALID, leaving nothing behind.
   */
  static async start(options: AgentOptions, ports: AgentPorts, signal: AbortSignal): Promise<Agent> {
    const { clock, logger, stdin, pid, podloopCommand, runtimeFlags = [] } = ports;
    const name = resolveNodeName(options.nodeName === '' ? undefined : options.nodeName);
    const lock = await lockFolder(options.rootDir, NODE_ROOT_LOCK, { clock, signal });
    try {
      const instanceId = await readInstanceId(options.rootDir);
      const ip = options.nodeIp === '' ? findNodeIp() : options.nodeIp;
      const identity: NodeIdentity = { name, instanceId, ip };
      const connected = await connectAgentRuntime(
        {
          ...{ podloopCommand, runtimeFlags, pid, clock, logger, folder: options.rootDir },
          runtimeEndpoint: options.runtimeEndpoint,
          timeoutMs: options.runtimeRequestTimeoutMs,
        },
        signal,
      );
      const { client } = connected;
      try {
        const runtimeName = connected.name;
        const parts = await buildAgentParts({
          ...{ options, identity, client, runtimeName, stdin, clock, logger },
          manifestParser: ports.manifestParser,
        });
        return new Agent(options, ports, lock, connected, identity, parts);
      } catch (error) {
        client.close();
        throw error;
      }
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  private constructor(
    options: AgentOptions,
    ports: AgentPorts,
    lock: FolderLock,
    connected: AgentRuntime,
    identity: NodeIdentity,
    parts: AgentParts,
  ) {
    this.#options = options;
    this.#ports = ports;
    this.#lock = lock;
    this.#connected = connected;
    this.identity = identity;
    this.runtime = connected;
    this.#parts = parts;
  }

  /** Where an embedded runtime of this agent has its log. */
  get runtimeLog(): string {
    return join(this.#options.rootDir, 'runtime', 'runtime.log');
  }

  /** The status of every pod, in the order in which they were first seen. */
  statuses(): PodStatusRecord[] {
    return this.#parts.manager.list();
  }

  /** A line for every pod, as `kubectl get pods` has them. */
  pods(): PodLine[] {
    const { manager, workers } = this.#parts;
    return toPodLines({
      records: manager.list(),
      findPod: (uid) => manager.findPod(uid),
      isTerminating: (uid) => workers.isTerminationRequested(uid),
    });
  }

  /** How the sync loop is, as of now. */
  loopState(): SyncLoopState {
    return this.#parts.loop.state();
  }

  /** Changes of statuses from now on, for one reader. */
  watchStatuses(): StatusChanges {
    return this.#parts.manager.subscribe();
  }

  /** Lifecycle events from now on, for one reader; of every pod of the runtime. */
  subscribe(): Subscription {
    return this.#parts.pleg.subscribe();
  }

  /** Events of pods, in the words of Kubernetes. */
  podEvents(): RecordedPodEvent[] {
    return this.#parts.events.list();
  }

  /**
   * Keeps the pods until the signal aborts, or with exitWhenDone until every pod has ended. Resolves once nothing is
   * begun any more and what was sent to the runtime has settled; what does not settle in time is named in the log and left
   * to itself. {@link Agent.close} it afterwards.
   */
  async run(signal: AbortSignal): Promise<AgentEnd> {
    const { clock, logger } = this.#ports;
    const { sources, pleg, runtimeState, collectors, node, loop, workers, probes } = this.#parts;
    const looking = new AbortController();
    const working = new AbortController();
    await node.refresh();
    logger.info('Started node agent', { node: this.identity.name, runtime: this.#connected.url });
    const { keeper } = this.#connected;
    const lookers = [
      ['runtime keeper', keeper === undefined ? Promise.resolve() : keeper.run(looking.signal)],
      ['event generator', pleg.run(looking.signal)],
      ['runtime state', runtimeState.run(looking.signal)],
      ['node facts', node.run(looking.signal)],
      ['probe targets', this.#tellProbes(looking.signal)],
    ] as const;
    const deciders = [
      ['pod sources', sources.run(AbortSignal.any([signal, working.signal]))],
      ['sync loop', loop.run(working.signal)],
      ['container collector', collectors.containers.run(working.signal)],
      ['log rotation', collectors.logs.run(working.signal)],
      ['image collector', collectors.images.run(working.signal)],
    ] as const;
    const ended = new AbortController();
    for (const [, part] of [...lookers, ...deciders]) part.catch((error: unknown) => ended.abort(error));
    const stopTelling = recordProbeFailures(this.#parts.events, (uid) => this.#parts.desired.has(uid));
    const end = await this.#untilEnd(AbortSignal.any([signal, ended.signal]));
    if (this.#options.stopPods) await this.#stopPods();
    working.abort();
    this.#parts.closing.abort();
    const ending = new AgentEnding({ clock, logger, limitMs: SETTLE_LIMIT_MS });
    await ending.ofAll(deciders);
    await ending.of('housekeeping', this.#parts.housekeeping.close());
    await workers.close(ending.remainingMs);
    await ending.of('probes', probes.close());
    await ending.of('memory of probes', this.#parts.memory.flush());
    await ending.of('changes of the runtime', this.#parts.changes.settled());
    looking.abort();
    stopTelling();
    pleg.closeSubscriptions();
    await ending.ofAll(lookers);
    // The first part that failed, before all were told to end or after.
    ended.signal.throwIfAborted();
    return end;
  }

  /** Closes the connection and gives the root folder back. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#parts.pleg.closeSubscriptions();
    this.#connected.client.close();
    await this.#lock.release();
  }

  async #untilEnd(signal: AbortSignal): Promise<AgentEnd> {
    if (!this.#options.exitWhenDone) {
      await untilAborted(signal);
      return 'interrupted';
    }
    try {
      for (;;) {
        await this.#ports.clock.sleep(DONE_LOOK_MS, signal);
        const phases = this.#findLastPhases();
        if (phases !== undefined) return phases.includes('Failed') ? 'some failed' : 'all succeeded';
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      return 'interrupted';
    }
  }

  /** The phases of all pods once every pod has ended; undefined before. */
  #findLastPhases(): string[] | undefined {
    const { desired, manager, workers, seenAllSources } = this.#parts;
    if (!seenAllSources()) return undefined;
    const phases: string[] = [];
    for (const { metadata } of desired.all()) {
      const phase = manager.find(metadata.uid)?.status.phase;
      const isOver = workers.isFinished(metadata.uid) || desired.findRejection(metadata.uid) !== undefined;
      if (phase === undefined || !isTerminalPhase(phase) || !isOver) return undefined;
      phases.push(phase);
    }
    return phases;
  }

  /** As if nobody wanted any pod any more: what ends and clears up pods at other times does it now. */
  async #stopPods(): Promise<void> {
    const { clock, logger } = this.#ports;
    const { desired, handlers, workers, seenAllSources } = this.#parts;
    if (!seenAllSources()) {
      logger.warn('Pods are left as they are: not every source of manifests was seen');
      return;
    }
    const startedMs = clock.monotonicMs();
    const ending = new Set<string>();
    let longestGraceMs = 0;
    for (;;) {
      // What a source had delivered may reach the sync loop a moment later.
      const pods = [...desired.all()];
      pods.forEach(({ metadata }) => ending.add(metadata.uid));
      longestGraceMs = Math.max(longestGraceMs, ...pods.map((pod) => graceSecondsOf(pod) * 1_000));
      handlers.handlePodRemoves(pods);
      const isWorkedOn = [...ending].some((uid) => workers.isKnown(uid) && !workers.isFinished(uid));
      if (!isWorkedOn && !(await this.#hasPods())) return;
      const untilMs = startedMs + longestGraceMs + STOP_LIMIT_MS;
      if (clock.monotonicMs() > untilMs) {
        logger.error('Pods did not end in time, what is left of them stays', undefined, {
          pods: [...this.#parts.cache.uids()].filter((uid) => this.#isOurs(uid)),
        });
        return;
      }
      await clock.sleep(DONE_LOOK_MS);
    }
  }

  async #hasPods(): Promise<boolean> {
    const { cache, paths } = this.#parts;
    for (const uid of cache.uids()) if (this.#isOurs(uid)) return true;
    return (await readdir(paths.podsDir).catch(() => [])).length > 0;
  }

  #isOurs(uid: string): boolean {
    return isOwnPod(this.#parts.cache.get(uid).status, this.#parts.isOurs);
  }

  /** Probes learn of new containers at once, and not only when they look. */
  async #tellProbes(signal: AbortSignal): Promise<void> {
    await using events = this.#parts.pleg.subscribe();
    signal.addEventListener('abort', () => events.close(), { once: true });
    for await (const event of events) {
      if ('pod' in event) this.#parts.probes.podChanged(event.pod.uid);
    }
  }
}

function graceSecondsOf({ spec, metadata }: NodePod): number {
  return metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
