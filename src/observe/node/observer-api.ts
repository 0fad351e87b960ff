/**
 * What an observer serves: at its socket all that it knows, at a port of this machine metrics and health.
 *
 * Every route only reads. The socket is open to its owner alone, the port to all on this machine.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import { untilNextBeatMs } from '#base/async/beat.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError, messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import {
  addReadingRoutes,
  allowOwnHosts,
  ApiRouter,
  ApiServer,
  authorizeOwner,
  buildReadOnlyRouter,
  type ContainerLogs,
  type HealthChecks,
  healthHandlers,
  nodePageHandlers,
  PodTable,
} from '#node/api';
import { serveHistory } from '#node/history';
import { type MetricsRegistry } from '#node/telemetry';
import { type Pleg, plegReportJson, type PlegReporter } from '#watch';
import { type ObserverHistory } from './observer-history.js';
import { type SeenPods } from './seen-pods.js';

/** What {@link ObserverApi} serves, and where. */
export interface ObserverApiOptions {
  readonly history: Pick<ObserverHistory, 'read' | 'findProblem'>;
  readonly pleg: Pick<Pleg, 'health' | 'findObserved' | 'cache' | 'onLook'>;
  readonly pods: SeenPods;
  readonly podLogsDir: string;
  readonly registry: Pick<MetricsRegistry, 'page'>;
  readonly reporter: Pick<PlegReporter, 'read'>;
  /** Why the log cannot be written; undefined when it can. */
  readonly findLogProblem: () => string | undefined;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An address of this machine. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The port is open to all on the machine: small limits. */
const OPEN_LIMITS = {
  ...{ maxConnections: 64, maxStrangers: 64, maxHeaderBytes: 16 * 1024 },
  ...{ headersTimeoutMs: 5_000, requestTimeoutMs: 10_000 },
} as const;
/** How often the table is brought up to date for those who watch pods. */
const REFRESH_MS = 1_000;

/** See the module. */
export class ObserverApi implements AsyncDisposable {
  readonly #options: ObserverApiOptions;
  readonly #table: PodTable;
  readonly #router: ApiRouter;
  readonly #socketServer: ApiServer;
  readonly #portServer: ApiServer;

  constructor(options: ObserverApiOptions) {
    this.#options = options;
    const { history, pods, registry, reporter, nodeName, version, channels, clock, logger } = options;
    // Above all numbers of an observer before this one.
    let resourceVersion = clock.now();
    const versions = {
      get current() {
        return resourceVersion;
      },
      next: () => ++resourceVersion,
    };
    this.#table = new PodTable(pods, versions);
    const checks = healthChecksOf(options);
    const pages = nodePageHandlers(
      {
        '/metrics': (signal) => registry.page(signal),
        '/debug/pleg': () => plegReportJson(reporter.read()),
      },
      clock,
    );
    const router = new ApiRouter();
    this.#router = router;
    const journal = serveHistory(history, nodeName);
    addReadingRoutes(router, { clock, pods: this.#table, logs: logsOf(options), journal, version });
    for (const [path, handler] of [...pages, ...healthHandlers(checks, true)])
      router.answer('GET', path, handler);
    this.#socketServer = new ApiServer({ channels, clock, logger, router, authorize: authorizeOwner });
    this.#portServer = new ApiServer({
      ...{ ...OPEN_LIMITS, channels, clock, logger, name: 'readonly' },
      router: buildReadOnlyRouter(checks, pages),
      authorize: allowOwnHosts(() => [nodeName]),
    });
  }

  /** For further routes at the socket. */
  get router(): Pick<ApiRouter, 'answer'> {
    return this.#router;
  }

  /** Rejects with ENDPOINT_IN_USE, OPTION_INVALID, or an error of the disk. */
  async listenAtSocket(path: string): Promise<void> {
    await this.#socketServer.listenAtSocket(path);
    this.#options.logger.info('Starting to listen', { socket: path });
  }

  /** Rejects with PORT_UNUSABLE. */
  async listenAtPort({ host, port }: ListenAddress): Promise<void> {
    try {
      await this.#portServer.listenAtPort(host, port);
    } catch (error) {
      const message = `--metrics-bind-address: ${host}:${port} cannot be used: ${messageOf(error)}`;
      throw new PodloopError('PORT_UNUSABLE', message, { cause: error });
    }
    this.#options.logger.info('Starting to listen for metrics and health checks', { address: host, port });
  }

  /** Keeps the pods that clients watch up to date until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      if (this.#table.watcherCount > 0) this.#table.refreshAll();
      await clock.sleep(untilNextBeatMs(clock, REFRESH_MS), signal).catch(() => undefined);
    }
  }

  /** Ends all connections. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#socketServer.close(), this.#portServer.close()]);
  }
}

/** A problem of the runtime is no problem of the observer, which a restart would only make blind for a while. */
function healthChecksOf({ pleg, history, findLogProblem }: ObserverApiOptions): HealthChecks {
  const ping = { name: 'ping', findProblem: () => undefined };
  const log = { name: 'log', findProblem: findLogProblem };
  const journal = { name: 'history', findProblem: () => history.findProblem() };
  const relist = { name: 'pleg', findProblem: () => pleg.health().message };
  return { healthz: [ping, log, journal], livez: [ping], readyz: [ping, relist] };
}

function logsOf({ podLogsDir, pleg }: ObserverApiOptions): ContainerLogs {
  return {
    podLogsDir,
    find: (uid, containerId) => {
      const isMeant = ({ id }: { readonly id: string }): boolean => id === containerId;
      const known = pleg.cache.getLastKnown(uid).containers.find(isMeant);
      const seen = pleg.findObserved(uid)?.containers.find(isMeant);
      if (known === undefined && seen === undefined) return undefined;
      const isWritten = seen?.state === 'running' || seen?.state === 'created';
      return { logPath: known?.logPath ?? '', isWritten };
    },
  };
}
