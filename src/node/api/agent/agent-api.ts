import { type Channels, type Publisher } from '#base/channels/publishing-channel.js';
import { lstat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ApiServer } from '../http/api-server.js';
import { type ApiPorts, buildApiRouter } from '../objects/api-routes.js';
import { type ApiRouter } from '../http/api-router.js';
import { authorizeOwner } from '../access/authorize-owner.js';
import { nodePageHandlers, type NodePages } from '../node/node-pages.js';
import { PodTable } from '../objects/pod-table.js';
import { ResourceVersions } from '../objects/resource-versions.js';
import { isRunning } from '../../pods/loop/housekeeping-owner.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { type AgentMetrics } from '../../telemetry/collected/agent-metrics.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { AgentServers, type AgentServersOptions } from './agent-servers.js';
import { type ApiPortsOptions, buildApiPorts } from './api-ports.js';
import { CreationTimes } from './creation-times.js';
import { buildHealthChecks } from './health-checks.js';
import { type AgentHistory } from '../../history/agent-history.js';
import { serveHistory } from '../../history/serve-history.js';
import { type AgentFacts, type EndRequest } from '../node/serve-agent.js';
import {
  startPlegReporter,
  type StartPlegReporterOptions,
} from '../../telemetry/reports/start-pleg-reporter.js';
import { type PlegReporter, type CriClient, plegReportJson } from '#watch';
import { followPods, ServedPods } from './served-pods.js';
import { SOCKET_NAME } from '../../options/usual-places.js';
import { type Clock } from '#base/time/clock.js';
import { type AgentParts } from '../../parts/agent-parts.js';
import { kubeletConfigPage } from '../../options/kubelet-config/kubelet-config-page.js';
import { type NodeIdentity } from '../../resources/facts/node-identity.js';
import { buildUsagePages } from './usage-pages.js';

/** What {@link AgentApi} needs. */
export interface AgentApiOptions extends ApiPortsOptions {
  readonly options: AgentOptions;
  readonly metrics: Pick<AgentMetrics, 'metrics' | 'probes' | 'loopDelay'>;
  readonly history: Pick<AgentHistory, 'read' | 'recordAction'>;
  readonly channels: Channels;
  readonly logger: Logger;
  /** Decides who may do what at the port with TLS; without it, only files do. */
  readonly cluster?: AgentServersOptions['cluster'] | undefined;
  /** The state of the connection to the API server; absent without a cluster. */
  readonly readCluster?: StartPlegReporterOptions['readCluster'];
  /** Where clients ask for the end of the agent and its pods. */
  readonly ending: EndRequest;
  /** Starts the agent again when it ends; undefined when nobody does. */
  readonly serviceManager?: AgentFacts['serviceManager'];
  /** Why the log cannot be written; undefined when it can. */
  readonly findLogProblem: () => string | undefined;
}

/** The API of an agent at its own socket, and the parts of it that ports serve. */
export class AgentApi {
  /** The socket's path. */
  readonly socket: string;
  readonly #options: AgentApiOptions;
  readonly #server: ApiServer;
  readonly #served: ServedPods;
  readonly #table: PodTable;
  readonly #ports: ApiPorts;
  readonly #router: ApiRouter;
  readonly #creations: CreationTimes;
  readonly #versions: ResourceVersions;
  #servers: AgentServers | undefined;
  readonly #plegReporter: PlegReporter;

  /** Starts to listen. Rejects with ENDPOINT_IN_USE, PORT_UNUSABLE or OPTION_INVALID. */
  static async start(given: AgentApiOptions): Promise<AgentApi> {
    const { options, clock, logger } = given;
    const folder = join(options.rootDir, 'api');
    await makeFolder(folder, 0o700);
    const versions = await ResourceVersions.open(
      { file: join(folder, 'resource-version'), logger },
      clock.now(),
    );
    const creations = await CreationTimes.open({ file: join(folder, 'created.json'), clock, logger });
    const api = new AgentApi(given, versions, creations);
    try {
      await assertPrivate(dirname(api.socket));
      await api.#server.listenAtSocket(api.socket);
      await api.#startServers();
      return api;
    } catch (error) {
      await api.close();
      throw error;
    }
  }

  private constructor(options: AgentApiOptions, versions: ResourceVersions, creations: CreationTimes) {
    const { parts, channels, clock, logger } = options;
    const { rootDir, socket } = options.options;
    this.#options = options;
    this.#versions = versions;
    this.#creations = creations;
    this.socket = socket === '' ? join(rootDir, SOCKET_NAME) : socket;
    const { desired, manager, workers, stopped } = parts;
    this.#served = new ServedPods({ clock, desired, manager, workers, creations, stopped });
    this.#table = new PodTable(this.#served, versions);
    this.#plegReporter = startPlegReporter(options);
    const pages = buildNodePages({ ...options, plegReporter: this.#plegReporter });
    this.#ports = {
      ...buildApiPorts(options, this.#table),
      pages: nodePageHandlers(pages, clock),
      health: buildHealthChecks(options),
      journal: serveHistory(options.history, options.identity.name),
      agent: this.#facts(),
      recordAction: (action) => options.history.recordAction(action),
    };
    this.#router = buildApiRouter(this.#ports);
    this.#server = new ApiServer({
      channels,
      clock,
      logger,
      authorize: authorizeOwner,
      router: this.#router,
    });
  }

  /** Follows changes of pods, and waits for ports, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, parts } = this.#options;
    const following = followPods({
      ...{ clock, signal, table: this.#table, manager: parts.manager },
      revision: () => `${this.#served.revision} ${parts.sources.config.seenAllSources()}`,
      onLook: () => this.#forgetAbsent(),
    });
    await Promise.all([following, this.#servers?.run(signal)]);
  }

  /** When a pod was created, as the API shows it; undefined for a pod that it does not show. */
  findCreatedMs(uid: string): number | undefined {
    return this.#served.find(uid)?.createdAtMs;
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#server.close(), this.#servers?.close()]);
    this.#plegReporter[Symbol.dispose]();
    await this.#creations.flush();
    await this.#options.parts.objectTimes.flush();
    await this.#versions.settled();
  }

  /** What the agent says about itself. */
  #facts(): AgentFacts {
    const { options, identity, runtime, version, ending, serviceManager, clock, parts } = this.#options;
    const { sources, ownUids, desired, manager } = parts;
    // A pod is forgotten a moment before its last container is gone.
    const names = new Map<string, string>();
    const nameOf = (uid: string): string => {
      const { metadata } = desired.find(uid) ?? manager.findPod(uid) ?? {};
      if (metadata !== undefined) names.set(uid, `${metadata.namespace}/${metadata.name}`);
      return names.get(uid) ?? uid;
    };
    const { rootDir, podManifestPath: path, manifestUrl, kubeconfig } = options;
    const folder = path === '' || path === '-' ? path : resolve(path);
    return {
      ...{ rootDir: resolve(rootDir), kubeconfig: kubeconfig && resolve(kubeconfig) },
      manifests: [folder, manifestUrl].filter((each) => each !== ''),
      ...{ runtime, version, ending, serviceManager, clock, socket: resolve(this.socket) },
      ...{ pid: process.pid, nodeName: identity.name, startedAtMs: clock.now() },
      hasReadManifests: () => sources.config.seenAllSources(),
      problems: () => sources.config.problems().map((problem) => sources.format(problem)),
      runningPods: () => ownUids().map(nameOf).sort(),
    };
  }

  /** Removes an earlier agent's entries for pods and objects that disappeared while none ran. */
  #forgetAbsent(): void {
    const { sources, cache, objectTimes } = this.#options.parts;
    if (!sources.config.seenAllSources()) return;
    this.#served.forgetAbsent((uid) => isRunning(cache.getLastKnown(uid)));
    objectTimes.settle(() => sources.config.objects.all());
  }

  async #startServers(): Promise<void> {
    const { options, identity, cluster, channels, clock, logger } = this.#options;
    const { health: checks, pages } = this.#ports;
    const nodeNames = (): string[] => [identity.name, ...identity.ips()];
    this.#servers = await AgentServers.start({
      ...{ options, nodeNames, checks, pages, channels, clock, logger },
      ...{ router: this.#router, rootDir: options.rootDir },
      ...(cluster === undefined ? {} : { cluster }),
    });
  }
}

/** Anyone who may write to the folder could replace the socket. */
async function assertPrivate(folder: string): Promise<void> {
  const facts = await lstat(folder).catch(() => undefined);
  const isShared = facts !== undefined && (facts.mode & 0o022) !== 0 && (facts.mode & 0o1000) === 0;
  if (isShared) {
    throw new PodloopError(
      'OPTION_INVALID',
      `--socket: others may write to the folder ${folder}; choose another one`,
    );
  }
}

/** What {@link buildNodePages} needs. */
interface NodePagesOptions extends Publisher {
  readonly options: AgentOptions;
  readonly parts: AgentParts;
  readonly metrics: Pick<AgentMetrics, 'metrics' | 'probes'>;
  readonly identity: NodeIdentity;
  readonly client: CriClient;
  readonly plegReporter: Pick<PlegReporter, 'read'>;
  readonly runtime: { readonly name: string; readonly version: string };
  /** podloop's. */
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How each page about the node is rendered: one line each. */
function buildNodePages(given: NodePagesOptions): NodePages {
  const { options, parts, metrics, plegReporter, identity, client, channels, clock, logger } = given;
  const { cache, paths, closing, claimUsages } = parts;
  const usage = buildUsagePages({
    ...{ claimUsages, statsPeriodMs: options.volumeStatsAggPeriodMs },
    ...{ client, cache, paths, channels, clock, logger },
    ...{ nodeName: identity.name, ending: closing.signal },
  });
  return {
    '/metrics': (signal) => metrics.metrics(signal),
    '/metrics/probes': (signal) => metrics.probes(signal),
    '/debug/pleg': () => plegReportJson(plegReporter.read()),
    '/configz': () => kubeletConfigPage(options),
    '/metrics/cadvisor': (signal) => usage.cadvisor(signal),
    '/metrics/resource': (signal) => usage.resource(signal),
    '/stats/summary': (signal) => usage.summary(signal),
  };
}
