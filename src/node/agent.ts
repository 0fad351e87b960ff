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
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ManifestParser } from './desired/manifests/parse-manifest.js';
import { type Subscription } from '#watch';
import { type PodStatusRecord, type StatusChanges } from './status/status-changes.js';
import { type SyncLoopState } from './pods/loop/sync-loop.js';
import { type Clock } from '#base/time/clock.js';
import { aboutFolder } from '#base/errors/errors.js';
import { splitNodeIps } from '#base/wire/node-ip.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { type FolderLock, lockFolder, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { type Logger } from '#base/log/logger.js';
import { AgentApi } from './api/agent/agent-api.js';
import { type LogState } from './telemetry/metrics/log-metrics.js';
import { AgentMetrics } from './telemetry/collected/agent-metrics.js';
import { AgentEnding } from './agent-ending.js';
import { type AgentOptions } from './options/agent-options.js';
import { type AgentParts, buildAgentParts } from './parts/agent-parts.js';
import { type AgentRuntime, connectAgentRuntime } from './agent-runtime.js';
import { untilBatchEnds } from './batch-end.js';
import { type ClusterLink, openClusterLink } from './cluster/cluster-link.js';
import { AgentHistory } from './history/agent-history.js';
import { HostIps, readNodeIpFacts } from './resources/facts/host-ips.js';
import { type NodeIdentity, readInstanceId, resolveNodeName } from './resources/facts/node-identity.js';
import { findTlsPort } from './options/port-address.js';
import { type RecordedPodEvent } from './telemetry/reports/pod-event-log.js';
import { claimManifestSources } from './parts/manifest-sources.js';
import { type PodLine, toPodLines } from './telemetry/reports/pod-lines.js';
import { readOptionFile } from './options/read-option-file.js';
import { recordProbeFailures } from './telemetry/reports/probe-events.js';
import { stopPods } from './stop-pods.js';
import { logFailedCalls } from './telemetry/reports/log-failed-calls.js';
import { logHealthChanges } from './telemetry/reports/log-health-changes.js';
import { notifyProbes } from './telemetry/reports/notify-probes.js';

/** What an {@link Agent} gets besides its options. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stdin: Readable;
  /** The command that starts podloop, for the embedded runtime. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** The environment of programs that return credentials of a cluster (default: none). */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Further flags of the embedded runtime. */
  readonly runtimeFlags?: readonly string[];
  /** podloop's version, for clients that ask (default: `unknown`). */
  readonly version?: string;
  /** The state of the log, for the agent's health and its metrics (default: always healthy). */
  readonly log?: LogState;
  /** Reads manifests (default: in a thread of its own). */
  readonly manifestParser?: ManifestParser;
}

/** Why the agent ended, and what happened to its pods. */
export interface AgentEnd {
  /** Why a batch did not succeed as a whole; empty when it did. Undefined when the agent was asked to end. */
  readonly failures: readonly string[] | undefined;
  /** What happened to the pods; `not all stopped`: some are left although they were to be stopped. */
  readonly pods: 'left as they are' | 'stopped' | 'not all stopped';
}

const WELL: LogState = { dropped: 0, findProblem: () => undefined };

/** How long everything together may take to settle at the end, in milliseconds. */
const SETTLE_LIMIT_MS = 30_000;

/** A node agent. */
export class Agent implements AsyncDisposable {
  readonly identity: NodeIdentity;
  readonly runtime: Pick<AgentRuntime, 'url' | 'name' | 'version'>;
  readonly #options: AgentOptions;
  readonly #ports: AgentPorts;
  readonly #lock: FolderLock;
  readonly #connected: AgentRuntime;
  readonly #parts: AgentParts;
  readonly #api: AgentApi;
  readonly #metrics: AgentMetrics;
  readonly #history: AgentHistory;
  /** Undefined for an agent without a cluster. */
  readonly #link: ClusterLink | undefined;
  #closing: Promise<void> | undefined;

  /**
   * Claims the root folder, finds or starts the runtime, and reads the state that earlier agents have left.
   *
   * Rejects with NODE_ROOT_IN_USE, ENDPOINT_…, CGROUP_DRIVER_CONFLICT or OPTION_INVALID, leaving nothing
   * behind.
   */
  static async start(options: AgentOptions, ports: AgentPorts, signal: AbortSignal): Promise<Agent> {
    const { clock, logger, stdin, podloopCommand, runtimeFlags = [], environment = {} } = ports;
    const version = ports.version ?? 'unknown';
    await checkServerFiles(options);
    const name = resolveNodeName(options.nodeName === '' ? undefined : options.nodeName);
    const link =
      options.kubeconfig === ''
        ? undefined
        : await openClusterLink({ options, nodeName: name, version, environment, clock, logger });
    const tell = (error: unknown): unknown => aboutFolder(error, '--root-dir', options.rootDir);
    const lock = await lockFolder(options.rootDir, NODE_ROOT_LOCK, { clock, signal }).catch(
      (error: unknown) => {
        throw tell(error);
      },
    );
    logger.info('Using root directory', { path: options.rootDir });
    try {
      const instanceId = await readInstanceId(options.rootDir);
      const hostIps = new HostIps({
        read: async () => readNodeIpFacts(splitNodeIps(options.nodeIp), name),
        ofNode: () => link?.nodeIps() ?? [],
        logger,
      });
      await hostIps.refresh();
      const identity: NodeIdentity = { name, instanceId, ips: () => hostIps.current() };
      const connected = await connectAgentRuntime(
        {
          ...{ podloopCommand, runtimeFlags, version, clock, logger, rootDir: options.rootDir },
          runtimeEndpoint: options.runtimeEndpoint,
          timeoutMs: options.runtimeRequestTimeoutMs,
        },
        signal,
      );
      const { client } = connected;
      try {
        const { name: runtimeName, url: runtimeUrl } = connected;
        await claimManifestSources({ options, nodeName: name, instanceId, client, logger });
        const parts = await buildAgentParts({
          ...{ options, identity, hostIps, client, runtimeName, runtimeUrl, stdin, link, clock, logger },
          manifestParser: ports.manifestParser,
        });
        const common = { parts, client, identity, version, clock, runtime: connected };
        const history = new AgentHistory({ ...common, options, logger });
        const { log = WELL } = ports;
        const metrics = await AgentMetrics.start({ ...common, history, log, logger });
        try {
          const findLogProblem = (): string | undefined => log.findProblem();
          const api = await AgentApi.start({
            ...{ ...common, metrics, history, options, logger, findLogProblem },
            cluster: link?.auth,
            readCluster: link && (() => link.report()),
          });
          try {
            const kubeletPort = (): number | undefined => findTlsPort(options);
            if (link !== undefined)
              await metrics.addClusterNode({ auth: () => link.auth.stats, parts: () => link.state });
            await link?.join({ parts, client, runtimeName, kubeletPort }, signal);
          } catch (error) {
            await api.close();
            throw error;
          }
          return new Agent(options, ports, lock, connected, identity, parts, api, metrics, history, link);
        } catch (error) {
          history[Symbol.dispose]();
          metrics[Symbol.dispose]();
          throw error;
        }
      } catch (error) {
        client.close();
        throw error;
      }
    } catch (error) {
      link?.close();
      await lock.release();
      throw tell(error);
    }
  }

  private constructor(
    options: AgentOptions,
    ports: AgentPorts,
    lock: FolderLock,
    connected: AgentRuntime,
    identity: NodeIdentity,
    parts: AgentParts,
    api: AgentApi,
    metrics: AgentMetrics,
    history: AgentHistory,
    link: ClusterLink | undefined,
  ) {
    this.#options = options;
    this.#ports = ports;
    this.#lock = lock;
    this.#connected = connected;
    this.identity = identity;
    this.runtime = connected;
    this.#parts = parts;
    this.#api = api;
    this.#metrics = metrics;
    this.#history = history;
    this.#link = link;
  }

  /** Where the API of this agent listens. */
  get socket(): string {
    return this.#api.socket;
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
      findCreatedMs: (uid) => this.#api.findCreatedMs(uid),
    });
  }

  /** The present state of the sync loop. */
  loopState(): SyncLoopState {
    return this.#parts.loop.state();
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
    const { clock, logger } = this.#ports;
    const { sources, pleg, runtimeState, collectors, node, loop, workers, probes, volumes } = this.#parts;
    const { volumeLimits, storageLimits } = this.#parts;
    const looking = new AbortController();
    const working = new AbortController();
    // Every part waits on one of them; that is no leak.
    setMaxListeners(0, looking.signal, working.signal);
    await node.refresh(signal);
    const recording = new AbortController();
    const history = this.#history.run(recording.signal);
    // Reported at the end: pods run without a history, too.
    history.catch(() => undefined);
    logger.info('Started node agent', {
      ...{
        version: this.#ports.version ?? 'unknown',
        node: this.identity.name,
        runtime: this.#connected.url,
        socket: this.#api.socket,
      },
    });
    const { keeper, client } = this.#connected;
    const { runtimeRequestTimeoutMs: requestTimeoutMs } = this.#options;
    const lookers = [
      ['runtime keeper', keeper === undefined ? Promise.resolve() : keeper.run(looking.signal)],
      ['event generator', pleg.run(looking.signal)],
      ['runtime state', runtimeState.run(looking.signal)],
      [
        'health report',
        logHealthChanges({ pleg, runtimeState, client, requestTimeoutMs, clock, logger }, looking.signal),
      ],
      ['API', this.#api.run(looking.signal)],
      ['node facts', node.run(looking.signal)],
      ['cluster', this.#link?.run(looking.signal) ?? Promise.resolve()],
      ['probe targets', notifyProbes({ pleg, probes }, looking.signal)],
    ] as const;
    const deciders = [
      ['pod sources', sources.run(AbortSignal.any([signal, working.signal]))],
      ['sync loop', loop.run(working.signal)],
      ['container collector', collectors.containers.run(working.signal)],
      ['volumes', volumes.run(working.signal)],
      ['limits of volumes', volumeLimits.run(working.signal)],
      ['limits of storage', storageLimits.run(working.signal)],
      ['evictions', this.#link?.runEvictions(working.signal) ?? Promise.resolve()],
      ['log rotation', collectors.logs.run(working.signal)],
      ['image collector', collectors.images.run(working.signal)],
    ] as const;
    const ended = new AbortController();
    for (const [, part] of [...lookers, ...deciders]) part.catch((error: unknown) => ended.abort(error));
    const stopTelling = recordProbeFailures(this.#parts.events, (uid) => this.#parts.desired.has(uid));
    const { hide } = this.#parts;
    const stopTellingCalls = logFailedCalls({
      ...{ logger, hide },
      findPod: (uid) => this.#parts.desired.find(uid),
    });
    const end = AbortSignal.any([signal, ended.signal]);
    // A part that cannot start at all has failed by then.
    await nextTurn();
    if (!end.aborted) onRunning();
    const failures = await this.#untilEnd(end);
    let pods: AgentEnd['pods'] = 'left as they are';
    if (this.#options.stopPods) {
      await this.#link?.leave();
      pods = (await stopPods({ parts: this.#parts, clock, logger })) ? 'stopped' : 'not all stopped';
    }
    working.abort();
    this.#parts.closing.abort();
    const ending = new AgentEnding({ clock, logger, limitMs: SETTLE_LIMIT_MS });
    await ending.ofAll(deciders);
    await ending.of('housekeeping', this.#parts.housekeeping.close());
    await workers.close(ending.remainingMs);
    await ending.of('probes', probes.close());
    await ending.of('memory of probes', this.#parts.memory.flush());
    await ending.of('changes of the runtime', this.#parts.changes.settled());
    // Another agent may claim the root folder soon, and two writers would corrupt a file.
    await ending.of('records of pulls', this.#parts.pullRecords.settled());
    await ending.of('cgroups of pods', this.#parts.cgroups.close());
    looking.abort();
    stopTelling();
    stopTellingCalls();
    pleg.closeSubscriptions();
    await ending.ofAll(lookers);
    recording.abort();
    await ending.of('history', history);
    // The first part that failed, before all were asked to end or after.
    ended.signal.throwIfAborted();
    return { failures, pods };
  }

  /** Closes the connection and releases the root folder. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    // Started first and closed last, so that clients can watch how pods end.
    await this.#api.close();
    this.#history[Symbol.dispose]();
    this.#metrics[Symbol.dispose]();
    this.#parts.pleg.closeSubscriptions();
    this.#link?.close();
    this.#connected.client.close();
    await this.#lock.release();
  }

  /** Why a batch failed, once it has ended; undefined when the agent is asked to end before. */
  async #untilEnd(signal: AbortSignal): Promise<readonly string[] | undefined> {
    if (this.#options.exitWhenDone) return await untilBatchEnds(this.#parts, this.#ports, signal);
    await untilAborted(signal);
    return undefined;
  }
}

/** Fails before anything is created or started for an agent that cannot serve. */
async function checkServerFiles(options: AgentOptions): Promise<void> {
  if (findTlsPort(options) === undefined) return;
  const { tlsCertFile, tlsPrivateKeyFile, clientCaFile, tokenAuthFile } = options;
  await readOptionFile('--tls-cert-file', tlsCertFile);
  await readOptionFile('--tls-private-key-file', tlsPrivateKeyFile);
  await readOptionFile('--client-ca-file', clientCaFile);
  await readOptionFile('--token-auth-file', tokenAuthFile, true);
}
