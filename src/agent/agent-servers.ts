/**
 * The servers of an agent at ports: one that is open to all on this machine, for health and metrics, and one for health
 * alone.
 *
 * In: options, and what is served. Out: answers; nobody is told anything here that the socket does not tell. What was
 * asked for by name listens before the agent starts or is an error; the usual port that nobody asked for is tried until it
 * is free, for a kubelet or another agent may have it.
 *
 * @module
 */
import { type ApiHandler } from '../server/api-request.js';
import { ApiServer, type ApiServerOptions } from '../server/api-server.js';
import { allowOwnHosts } from '../server/check-host.js';
import { type HealthChecks } from '../server/health.js';
import { type NodePagePath } from '../server/node-pages.js';
import { buildHealthRouter, buildReadOnlyRouter } from '../server/read-only-routes.js';
import { Backoff } from '../util/backoff.js';
import { type Clock } from '../util/clock.js';
import { messageOf, PodloopError } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { findPortHolder } from './find-port-holder.js';
import { DEFAULT_READ_ONLY_PORT, type ServerOptions } from './options/server-options.js';

/** What {@link AgentServers} need. */
export interface AgentServersOptions {
  readonly options: ServerOptions;
  /** By which others know this node: clients may name it so, where it answers to the network. */
  readonly nodeNames: readonly string[];
  readonly checks: HealthChecks;
  readonly pages: ReadonlyMap<NodePagePath, ApiHandler>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A server, and where it listens. */
interface Listener {
  readonly server: ApiServer;
  /** The flag that says where. */
  readonly flag: string;
  readonly address: string;
  readonly port: number;
  /** What is logged once it listens. */
  readonly message: string;
  /** Nobody asked for that very port. */
  readonly isUsual: boolean;
}

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 60_000;
/** Nobody sends more than a few to ports at which there is nothing to be sent. */
const OPEN_LIMITS = { maxConnections: 128, maxHeaderBytes: 16 * 1024 } as const;

/** See the module. */
export class AgentServers {
  readonly #options: AgentServersOptions;
  readonly #listeners: Listener[];
  /** Those that are to be tried again. */
  readonly #waiting: Listener[] = [];

  /** Listens at what was asked for. Rejects with PORT_UNUSABLE naming the flag, and who has the port. */
  static async start(options: AgentServersOptions): Promise<AgentServers> {
    const servers = new AgentServers(options);
    try {
      await servers.#listenToAll();
      return servers;
    } catch (error) {
      await servers.close();
      throw error;
    }
  }

  private constructor(options: AgentServersOptions) {
    this.#options = options;
    this.#listeners = [...this.#readOnly(), ...this.#health()];
  }

  /** Tries the usual port until it is free or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const backoff = new Backoff({ initialMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
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
    const { options, checks, pages, nodeNames } = this.#options;
    const { enableServer, address, readOnlyPort: port = DEFAULT_READ_ONLY_PORT } = options;
    if (!enableServer || port === 0) return [];
    const names = isLocal(address) ? [address] : [address, ...nodeNames];
    const server = this.#make('readonly', buildReadOnlyRouter(checks, pages), names);
    const message = 'Starting to listen read-only';
    const isUsual = options.readOnlyPort === undefined;
    return [{ server, flag: '--read-only-port', address, port, message, isUsual }];
  }

  #health(): Listener[] {
    const { options, checks, nodeNames } = this.#options;
    const { healthzBindAddress: address, healthzPort: port } = options;
    if (port === 0) return [];
    const names = isLocal(address) ? [address] : [address, ...nodeNames];
    const server = this.#make('healthz', buildHealthRouter(checks), names);
    const message = 'Starting to listen for health checks';
    return [{ server, flag: '--healthz-port', address, port, message, isUsual: false }];
  }

  #make(name: ApiServerOptions['name'], router: ApiServerOptions['router'], hosts: readonly string[]) {
    const { clock, logger } = this.#options;
    const authorize = allowOwnHosts(hosts);
    return new ApiServer({ ...OPEN_LIMITS, clock, logger, router, authorize, name: name! });
  }

  async #listenToAll(): Promise<void> {
    for (const listener of this.#listeners) {
      const { flag, address, port, isUsual } = listener;
      try {
        await this.#listen(listener);
      } catch (error) {
        const why = await describeFailure(error, port);
        if (!isUsual) {
          throw new PodloopError('PORT_UNUSABLE', `${flag}: ${address}:${port} cannot be used: ${why}`, {
            cause: error,
          });
        }
        this.#waiting.push(listener);
        this.#options.logger.warn('Usual port is not free and is tried again', { flag, address, port, why });
      }
    }
  }

  async #tryAgain(): Promise<void> {
    for (const listener of this.#waiting.splice(0)) {
      await this.#listen(listener).catch(() => this.#waiting.push(listener));
    }
  }

  async #listen({ server, address, port, message }: Listener): Promise<void> {
    await server.listenAtPort(address, port);
    this.#options.logger.info(message, { address, port });
  }
}

function isLocal(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

async function describeFailure(error: unknown, port: number): Promise<string> {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE': {
      const holder = await findPortHolder(port);
      const who = holder === undefined ? 'somebody else' : `${holder.name} (process ${holder.pid})`;
      return `${who} listens there; end that one, choose another port, or 0 for none`;
    }
    case 'EADDRNOTAVAIL':
      return 'the address is not of this machine';
    case 'EACCES':
      return 'this user may not listen at ports below 1024';
    default:
      return messageOf(error);
  }
}
