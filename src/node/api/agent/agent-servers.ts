/**
 * The servers of an agent at ports: a read-only one for this machine, one for health, and one with TLS.
 *
 * The first is open to all on this machine, for health and metrics; the one with TLS is for identified
 * clients.
 *
 * In: options, and what to serve. Out: answers, never more than the socket gives. A configured port has to be
 * free before the agent starts. The default port is retried until it is free, as a kubelet or another agent
 * may have it.
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { type ApiHandler } from '../http/api-request.js';
import { type ApiRouter } from '../http/api-router.js';
import { ApiServer, type ApiServerOptions } from '../http/api-server.js';
import { authorizeByCluster, type Authenticator, type Authorizer } from '../access/authorize-by-cluster.js';
import { authorizeKnown } from '../access/authorize-known.js';
import { allowOwnHosts } from '../access/check-host.js';
import { closePaths } from '../http/close-paths.js';
import { type HealthChecks } from '../node/health.js';
import { type NodePagePath } from '../node/node-pages.js';
import { buildHealthRouter, buildReadOnlyRouter } from '../node/read-only-routes.js';
import { type TokenTable } from '../access/token-table.js';
import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { isLoopback } from '#base/wire/is-loopback.js';
import { type Logger } from '#base/log/logger.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { describeListenFailure } from './describe-listen-failure.js';
import { certFolderOf } from '../../options/cert-folder.js';
import { type ClusterOptions } from '../../options/cluster-options.js';
import { findTlsPort, portAddressOf } from '../../options/port-address.js';
import { findReadOnlyPlace } from '../../options/read-only-port.js';
import { type ServerOptions } from '../../options/server-options.js';
import { TlsFiles } from './tls-files.js';

/** What {@link AgentServers} need. */
export interface AgentServersOptions extends Publisher {
  readonly options: ServerOptions & Pick<ClusterOptions, 'kubeconfig'>;
  /** The node's present names: clients may use them where the server listens to the network. */
  readonly nodeNames: () => readonly string[];
  readonly checks: HealthChecks;
  readonly pages: ReadonlyMap<NodePagePath, ApiHandler>;
  /** Everything at the socket, for identified clients. */
  readonly router: ApiRouter;
  /** Identifies and authorizes clients at the port with TLS; without it, only files do. */
  readonly cluster?: Authenticator & Authorizer;
  readonly rootDir: string;
  /** The port that is open to all if none is configured (default: the kubelet's). */
  readonly usualPort?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A server and its address. */
interface Listener {
  readonly server: ApiServer;
  /** The flag that sets the address. */
  readonly flag: string;
  readonly address: string;
  readonly port: number;
  /** The log message once it listens. */
  readonly message: string;
  /** The port is the default, not configured. */
  readonly isUsual: boolean;
}

const TLS_FLAG = '--port';
/** For a node of a cluster without that port. */
const UNREACHABLE =
  'The API server does not find this agent: kubectl logs, exec, attach, port-forward and top do not work here';
const FIRST_RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;
/** How often to read files of certificates and tokens again. */
const FILES_LOOK_MS = 10_000;
/** Small limits: clients of ports without uploads send little. */
const OPEN_LIMITS = {
  ...{ maxConnections: 128, maxStrangers: 64, maxHeaderBytes: 16 * 1024 },
  ...{ headersTimeoutMs: 5_000, requestTimeoutMs: 10_000 },
} as const;

/** See the module. */
export class AgentServers {
  readonly #options: AgentServersOptions;
  readonly #listeners: Listener[];
  readonly #files: TlsFiles | undefined;
  /** Listeners to retry. */
  readonly #waiting: Listener[] = [];
  /** Listeners whose failure was logged. */
  readonly #told = new Set<Listener>();

  /**
   * Listens as configured. Rejects with PORT_UNUSABLE naming the flag, and who has the port.
   *
   * Rejects with OPTION_INVALID for unusable files.
   */
  static async start(options: AgentServersOptions): Promise<AgentServers> {
    const servers = new AgentServers(options, await openTlsFiles(options));
    try {
      await servers.#listenToAll();
      return servers;
    } catch (error) {
      await servers.close();
      throw error;
    }
  }

  private constructor(options: AgentServersOptions, files: TlsFiles | undefined) {
    this.#options = options;
    this.#files = files;
    this.#listeners = [...this.#readOnly(), ...this.#health(), ...this.#withTls()];
  }

  /**
   * Retries the default port until it is free, and keeps certificates and tokens up to date, until the signal
   * aborts.
   */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#waitForPorts(signal), this.#followFiles(signal)]);
  }

  /** Applies changed certificates and tokens. */
  async refreshFiles(): Promise<void> {
    const files = this.#files;
    if (files === undefined || !(await files.refresh())) return;
    for (const { server, flag } of this.#listeners)
      if (flag === TLS_FLAG) server.setSecureContext(files.context);
  }

  async #followFiles(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    // Not before, as no start should wait for it.
    await this.#files?.prepareRenewal();
    while (this.#files !== undefined) {
      await clock.sleep(FILES_LOOK_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.refreshFiles();
    }
  }

  async #waitForPorts(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const backoff = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
    while (this.#waiting.length > 0) {
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.#tryAgain();
    }
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#listeners.map(async ({ server }) => server.close()));
  }

  #readOnly(): Listener[] {
    const { options, checks, pages, usualPort } = this.#options;
    const { address, port, isUsual } = findReadOnlyPlace(options, usualPort);
    if (port === 0) return [];
    const server = this.#make('readonly', buildReadOnlyRouter(checks, pages), address);
    const message = 'Starting to listen read-only';
    return [{ server, flag: '--read-only-port', address, port, message, isUsual }];
  }

  #health(): Listener[] {
    const { options, checks } = this.#options;
    const { healthzBindAddress: address, healthzPort: port } = options;
    if (port === 0) return [];
    const server = this.#make('healthz', buildHealthRouter(checks), address);
    const message = 'Starting to listen for health checks';
    return [{ server, flag: '--healthz-port', address, port, message, isUsual: false }];
  }

  #withTls(): Listener[] {
    const files = this.#files;
    const { options, router, cluster, channels, clock, logger } = this.#options;
    const { enableServer, port, anonymousAuth, authorizationMode, clientCaFile, tokenAuthFile } = options;
    if (files === undefined) {
      const why = enableServer ? { flag: TLS_FLAG, port } : { flag: '--enable-server', enableServer };
      if (cluster !== undefined) logger.warn(UNREACHABLE, why);
      return [];
    }
    const address = portAddressOf(options);
    const tokens = (): TokenTable => files.tokens;
    const onlyMasters = authorizationMode === 'Webhook';
    const known =
      cluster === undefined
        ? authorizeKnown({ tokens, isHealthOpen: anonymousAuth, onlyMasters })
        : authorizeByCluster({ tokens, isAnonymousKnown: anonymousAuth, cluster, logger });
    const authorize = closePaths(known, {
      debugging: !options.enableDebuggingHandlers,
      systemLogs: !options.enableSystemLogHandler,
    });
    const nobodyKnown = findUnknownClients(cluster !== undefined, clientCaFile, tokenAuthFile);
    if (nobodyKnown !== undefined) logger.warn(nobodyKnown, { flag: TLS_FLAG, port });
    // A client without a trusted certificate may still have a token.
    const tls = { ...files.context, requestCert: clientCaFile !== '', rejectUnauthorized: false };
    const server = new ApiServer({ channels, clock, logger, router, authorize, name: 'readwrite', tls });
    return [{ server, flag: TLS_FLAG, address, port, message: 'Starting to listen', isUsual: false }];
  }

  #make(name: ApiServerOptions['name'], router: ApiServerOptions['router'], address: string) {
    const { nodeNames, channels, clock, logger } = this.#options;
    const isLocal = isLoopback(address);
    const authorize = allowOwnHosts(() => (isLocal ? [address] : [address, ...nodeNames()]));
    return new ApiServer({ ...OPEN_LIMITS, channels, clock, logger, router, authorize, name: name! });
  }

  async #listenToAll(): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await this.#listen(listener);
      } catch (error) {
        if (!listener.isUsual) throw await toPortError(error, listener);
        await this.#wait(listener, error);
      }
    }
  }

  /** Retries a default port, as others may free it; no other failure goes away by itself. */
  async #wait(listener: Listener, error: unknown): Promise<void> {
    const { flag, address, port } = listener;
    const isTaken = systemCodeOf(error) === 'EADDRINUSE';
    const isNews = !isTaken || !this.#told.has(listener);
    if (isTaken) this.#waiting.push(listener);
    this.#told.add(listener);
    if (!isNews) return;
    const message = isTaken ? 'Usual port is not free and is tried again' : 'Usual port cannot be used';
    const why = await describeListenFailure(error, port);
    this.#options.logger.warn(message, { flag, address, port, why });
  }

  async #tryAgain(): Promise<void> {
    for (const listener of this.#waiting.splice(0)) {
      await this.#listen(listener).catch(async (error: unknown) => this.#wait(listener, error));
    }
  }

  async #listen({ server, address, port, message }: Listener): Promise<void> {
    await server.listenAtPort(address, port);
    this.#options.logger.info(message, { address, port });
  }
}

async function toPortError(error: unknown, { flag, address, port }: Listener): Promise<PodloopError> {
  const place = joinHostPort({ host: address, port });
  const why = await describeListenFailure(error, port);
  return new PodloopError('PORT_UNUSABLE', `${flag}: ${place} cannot be used: ${why}`, { cause: error });
}

async function openTlsFiles(given: AgentServersOptions): Promise<TlsFiles | undefined> {
  const { options, nodeNames, rootDir, channels, clock, logger } = given;
  if (findTlsPort(options) === undefined) return undefined;
  const address = portAddressOf(options);
  const always = ['localhost', '127.0.0.1', '::1', ...(isAny(address) ? [] : [address])];
  return TlsFiles.open({
    options,
    hosts: () => [...new Set([...nodeNames(), ...always])],
    folder: certFolderOf({ ...options, rootDir }),
    channels,
    clock,
    logger,
  });
}

/** Clients that people would expect to be identified, but are not, as a file is missing. */
function findUnknownClients(
  isInCluster: boolean,
  clientCaFile: string,
  tokenAuthFile: string,
): string | undefined {
  if (clientCaFile !== '') return undefined;
  if (isInCluster)
    return 'The API server itself is not known, nor is kubectl logs: there is no --client-ca-file';
  if (tokenAuthFile !== '') return undefined;
  return 'Only health is answered: there is neither --token-auth-file nor --client-ca-file';
}

function isAny(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}
