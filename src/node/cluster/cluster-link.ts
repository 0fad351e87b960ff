/**
 * Ties an agent to a cluster: the connection to its API server, and the parts between that and the agent's
 * own.
 *
 * It is opened before the parts of the agent are built, as they ask it (may this pod be here? what does it
 * refer to?), and completed when they exist. An agent without a cluster loads nothing below src/cluster.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import { networkInterfaces } from 'node:os';
import type {
  CertificateManager,
  ClientEnrollment,
  ClusterAuth,
  ClusterAuthOptions,
  ClusterNode,
  ClusterObjects,
  ClusterObjectsListener,
  ClusterObjectsOptions,
  ClusterPods,
  KubeClients,
  NodeEvent,
  NodeObject,
  NodeTaint,
} from '#cluster';
import { type CriClient } from '#watch';
import { type EvictionManager } from '../resources/eviction/eviction-manager.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { REJECTED_IN_SHUTDOWN } from '#kube/node/shutdown-words.js';
import { type ReportedCluster } from '#kube/node/pleg-report.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Rejection } from '../pods/loop/desired-pods.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { findIpProblem, splitNodeIps, usableAddresses } from '#base/wire/node-ip.js';
import { type AgentOptions } from '../options/agent-options.js';
import { type AgentParts } from '../parts/agent-parts.js';
import { buildClusterEvents, type BuiltClusterEvents } from './events/build-cluster-events.js';
import { buildClusterNode, type BuiltClusterNode } from './node/build-cluster-node.js';
import { ownArchitecture } from './node/read-machine-info.js';
import { type ClusterPartsState } from '../telemetry/metrics/cluster-parts-metrics.js';
import { buildEviction } from '../resources/eviction/pods/build-eviction.js';
import { certFolderOf } from '../options/cert-folder.js';
import { type ClusterHooks } from './cluster-hooks.js';
import { buildAgentPods } from './agent-pods-port.js';

/** What {@link openClusterLink} needs. */
export interface ClusterLinkOptions {
  readonly options: AgentOptions;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  /** The agent's environment, for programs that return credentials. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The finished parts of an agent. */
export interface JoiningParts {
  readonly parts: AgentParts;
  /** The runtime's client. */
  readonly client: CriClient;
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  /** The port at which the API server reaches the agent; undefined while nothing listens there. */
  readonly kubeletPort: () => number | undefined;
}

/** What is known before the agent has its parts; only a node of a cluster loads it. */
interface Loaded {
  readonly enrollment: ClientEnrollment;
  readonly clients: KubeClients;
  /** Why the Node has no addresses, and how to fix that; undefined when it has. */
  readonly addressProblem: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly NodeTaint[];
  readonly makeAuth: (options: ClusterAuthOptions) => ClusterAuth;
  readonly makeObjects: (options: ClusterObjectsOptions) => ClusterObjects;
  readonly ClusterPods: typeof ClusterPods;
}

/** An API server that is away must not delay the end. */
const LEAVE_LIMIT_MS = 1_000;

/** Before the first reading. */
const NO_PRESSURE = { memory: false, disk: false, pid: false };

/**
 * Reads the kubeconfig and its files. Rejects with KUBECONFIG_INVALID or OPTION_INVALID; opens no connection
 * yet.
 */
export async function openClusterLink(given: ClusterLinkOptions): Promise<ClusterLink> {
  const { options, version, environment, channels, clock, logger } = given;
  const cluster = await import('#cluster');
  const addressProblem = findAddressProblem(options.nodeIp);
  if (addressProblem !== undefined) logger.warn('Node has no addresses', { why: addressProblem });
  const perSecond = options.kubeApiQps < 0 ? Infinity : options.kubeApiQps;
  const leaseMs = options.nodeLeaseDurationSeconds * 1_000;
  const labels = attempt('--node-labels', () => cluster.parseNodeLabels(options.nodeLabels));
  const taints = attempt('--register-with-taints', () =>
    options.registerWithTaints.map((text) => cluster.parseTaint(text)),
  );
  const enrollment = await cluster.openClientEnrollment({
    ...{ kubeconfig: options.kubeconfig, bootstrapKubeconfig: options.bootstrapKubeconfig },
    ...{ certFolder: certFolderOf(options), nodeName: given.nodeName },
    ...{ isRotated: options.rotateCertificates, version, environment, channels, clock, logger },
    rateLimit: { perSecond, burst: options.kubeApiBurst },
    heartbeatTimeoutMs: Math.min(options.nodeStatusUpdateFrequencyMs, leaseMs),
  });
  return new ClusterLink(given, {
    addressProblem,
    ...{ labels, taints, enrollment, clients: enrollment.clients },
    makeAuth: (more) => new cluster.ClusterAuth(more),
    makeObjects: (more) => new cluster.ClusterObjects(more),
    ClusterPods: cluster.ClusterPods,
  });
}

/** See the module. */
export class ClusterLink implements ClusterHooks {
  /** Decides who may ask the agent what. */
  readonly auth: ClusterAuth;
  readonly #given: ClusterLinkOptions;
  readonly #loaded: Loaded;
  #objects: ClusterObjects | undefined;
  #pods: ClusterPods | undefined;
  #node: BuiltClusterNode | undefined;
  #events: BuiltClusterEvents | undefined;
  #serving: CertificateManager | undefined;
  #eviction: EvictionManager | undefined;
  #isLeaving = false;
  /** The labels of a Node that this agent creates. */
  #initialLabels: Readonly<Record<string, string>> = {};

  constructor(given: ClusterLinkOptions, loaded: Loaded) {
    this.#given = given;
    this.#loaded = loaded;
    const { options, nodeName, channels, clock } = given;
    this.auth = loaded.makeAuth({
      ...{ client: loaded.clients.api, nodeName, channels, clock },
      settings: {
        areTokensReviewed: options.authenticationTokenWebhook,
        tokenTtlMs: options.authenticationTokenWebhookCacheTtlMs,
        mode: options.authorizationMode,
        authorizedTtlMs: options.authorizationWebhookCacheAuthorizedTtlMs,
        unauthorizedTtlMs: options.authorizationWebhookCacheUnauthorizedTtlMs,
      },
    });
  }

  /** The API server in the kubeconfig. */
  get server(): string {
    return this.#loaded.clients.server;
  }

  /** The state of its parts; undefined before the agent has joined. */
  get state(): ClusterPartsState | undefined {
    const [objects, pods, node, events] = [this.#objects, this.#pods, this.#node, this.#events];
    if (!objects || !pods || !node || !events) return undefined;
    const { watch, pods: known, mirrors, unknownFields, statuses } = pods.state;
    const followed = { pods: watch, node: node.node.watch, ...objects.collections };
    return {
      followed: Object.entries(followed).map(([collection, state]) => ({ collection, ...state })),
      pods: { known, mirrors, unknownFields, statuses },
      objects: objects.stats,
      events: events.stats,
    };
  }

  /** Whether the API server answers requests, and its errors if not. */
  report(): ReportedCluster {
    const { clients, enrollment } = this.#loaded;
    const followed = this.state?.followed ?? [];
    const wanted = [
      { what: 'certificate', error: enrollment.findProblem() },
      ...followed.map(({ collection, problem }) => ({ what: collection, error: problem })),
    ];
    const problems = wanted.flatMap(({ what, error }) => (error === undefined ? [] : [{ what, error }]));
    return { server: clients.server, problems };
  }

  /** The Node as a part of the cluster; undefined before the agent has joined. */
  get node(): ClusterNode | undefined {
    return this.#node?.node;
  }

  openObjects(listener: ClusterObjectsListener): ClusterObjects {
    const { nodeName, clock, logger } = this.#given;
    this.#objects = this.#loaded.makeObjects({
      ...{ client: this.#loaded.clients.api, clock, logger },
      // Until it was read, use what it would be created as.
      node: () => this.#node?.node.node ?? { metadata: { name: nodeName, labels: this.#initialLabels } },
      ...listener,
    });
    return this.#objects;
  }

  admit(pod: NodePod): Rejection | undefined {
    if (this.#isLeaving) return REJECTED_IN_SHUTDOWN;
    return this.#pods?.admit(pod);
  }

  findReported(uid: string): V1PodStatus | undefined {
    return this.#pods?.findReported(uid);
  }

  allocatable(): Readonly<Record<string, string>> | undefined {
    return this.#node?.node.node?.status.allocatable;
  }

  nodeIps(): readonly string[] {
    return this.#node?.node.ips ?? [];
  }

  isNodeOfKubeletHere(): boolean | undefined {
    return this.#node?.node.isOfKubeletHere;
  }

  podEndChanged(uid: string): void {
    this.#pods?.podEndChanged(uid);
  }

  /** Connects the agent's parts with those of the cluster; once, before {@link run}. */
  async join({ parts, client, runtimeName, kubeletPort }: JoiningParts, signal: AbortSignal): Promise<void> {
    const { options, nodeName, version, channels, clock, logger } = this.#given;
    const { clients, labels, taints, ClusterPods } = this.#loaded;
    const { api, heartbeat } = clients;
    const { eventRecordQps, eventBurst } = options;
    const { computeInitialLabels } = await import('#cluster');
    const events = await buildClusterEvents({
      ...{ nodeName, parts, api, eventRecordQps, eventBurst, clock, logger },
      nodeUid: () => this.#node?.node.node?.metadata.uid,
    });
    this.#events = events;
    this.#initialLabels = computeInitialLabels({
      ...{ hostname: nodeName, operatingSystem: 'linux', architecture: ownArchitecture(), labels },
    });
    const pods = new ClusterPods({
      ...{ client: api, nodeName, channels, clock, logger, events: parts.events },
      agent: buildAgentPods(parts),
      takeNode: (node) => this.#node?.node.take(node),
      pressure: () => this.#node?.node.pressure ?? NO_PRESSURE,
      initialLabels: this.#initialLabels,
    });
    this.#pods = pods;
    this.#node = await buildClusterNode({
      ...{
        options,
        nodeName,
        version,
        parts,
        client,
        runtimeName,
        api,
        heartbeat,
        kubeletPort,
        channels,
        clock,
        logger,
      },
      dropConnection: () => heartbeat.dropConnections(),
      settings: {
        ...{ labels, taints, register: options.registerNode, providerId: options.providerId },
        cloud: options.cloudProvider === 'external' ? { nodeIp: options.nodeIp } : undefined,
        statusUpdateFrequencyMs: options.nodeStatusUpdateFrequencyMs,
        statusReportFrequencyMs: options.nodeStatusReportFrequencyMs,
        leaseDurationMs: options.nodeLeaseDurationSeconds * 1_000,
        maxImages: options.nodeStatusMaxImages,
      },
      onEvent: (event) => this.recordEvent(event),
      onSupplies: (supplies) => this.#eviction?.noteSupplies(supplies),
      onReached: () => {
        for (const part of [this.#objects, pods, events]) part?.retryNow();
      },
      onRestored: () => {
        for (const part of [this.#objects, pods]) part?.listAgain();
      },
    });
    this.#eviction = attempt('the configuration', () =>
      buildEviction({
        ...{ options, parts, clock, logger },
        node: () => this.#node?.node,
        findReported: (uid) => this.findReported(uid),
        onEvent: (event) => this.recordEvent(event),
      }),
    );
    this.#node.node.onNode((node) => {
      pods.seeNode(node);
      parts.room.look();
    });
    // Before any pod is told them.
    await this.#node.node.findAddresses(signal);
    const { addressProblem } = this.#loaded;
    if (addressProblem !== undefined) {
      events.recordNode({ type: 'Warning', reason: 'InvalidNodeIP', message: addressProblem });
    }
    if (options.serverTlsBootstrap && kubeletPort() !== undefined) {
      const { openServingCertificate } = await import('#cluster');
      this.#serving = openServingCertificate({
        ...{ certFolder: certFolderOf(options), nodeName, client: api, channels, clock, logger },
        addresses: () => this.node?.addresses ?? [],
        onEvent: (event) => this.recordEvent(event),
      });
    }
  }

  /** Keeps node and cluster in step until the signal aborts; then resolves. The pods stay as they are. */
  async run(signal: AbortSignal): Promise<void> {
    const { enrollment } = this.#loaded;
    const parts = [this.#objects, this.#pods, this.#node, this.#events, this.#serving];
    await Promise.all([
      enrollment.run(signal, (event) => this.recordEvent(event)),
      // Sends no request before the node has something to show; existing pods run on meanwhile.
      enrollment.whenKnown(signal).then(
        async () => Promise.all(parts.map(async (part) => part?.run(signal))),
        // It has aborted.
        () => undefined,
      ),
    ]);
  }

  /** Evicts pods while the node is short of something, until the signal aborts; then resolves. */
  async runEvictions(signal: AbortSignal): Promise<void> {
    await this.#eviction?.run(signal);
  }

  /**
   * Marks the Node before all pods are ended, so that the scheduler puts their replacements elsewhere.
   *
   * New pods are refused from then on. Resolves once the API server knows, or after a second.
   */
  async leave(): Promise<void> {
    const { clock } = this.#given;
    this.#isLeaving = true;
    if (this.#node === undefined) return;
    const { node, health } = this.#node;
    const isKnown = (seen: NodeObject | undefined): boolean =>
      seen?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'False') ?? true;
    let stop = (): void => undefined;
    const known = new Promise<void>((resolve) => {
      stop = node.onNode((seen) => {
        if (isKnown(seen)) resolve();
      });
      if (isKnown(node.node)) resolve();
    });
    health.announceEnd(true);
    await settlesWithin(known, LEAVE_LIMIT_MS, clock);
    stop();
  }

  /** Ends every connection. Idempotent. */
  close(): void {
    this.#loaded.clients.close();
  }

  shutdownChanged(isShuttingDown: boolean): void {
    this.#node?.health.announceEnd(isShuttingDown || this.#isLeaving);
  }

  /** Sends an event of the Node, and logs it. */
  recordEvent(event: NodeEvent): void {
    const { nodeName, logger } = this.#given;
    const { type, reason, message } = event;
    this.#events?.recordNode(event);
    logger.info('Event of the node', { node: nodeName, type, reason, message });
  }
}

/** Why nobody can reach the node at its configured address. */
function findAddressProblem(nodeIp: string): string | undefined {
  const interfaces = networkInterfaces();
  const [problem] = splitNodeIps(nodeIp).flatMap((ip) => findIpProblem(ip, interfaces) ?? []);
  if (problem === undefined) return undefined;
  const usable = usableAddresses(interfaces);
  const right = usable.length > 0 ? `; this machine has ${usable.join(', ')}` : '';
  return `--node-ip ${nodeIp}: ${problem}: the Node has no addresses, and kubectl logs, exec and port-forward do not reach it${right}`;
}

function attempt<Result>(flag: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new PodloopError('OPTION_INVALID', `${flag}: ${messageOf(error)}`, { cause: error });
  }
}
