import { type Publisher } from '#base/channels/publishing-channel.js';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type ClientPairSource, Credentials } from './credentials.js';
import { findProxy, readProxyUrl } from '#base/wire/find-proxy.js';
import { HttpKubeClient } from './http-kube-client.js';
import { type Kubeconfig, readKubeconfig } from './kubeconfig.js';

/** What {@link openKubeClients} needs. */
export interface KubeClientsOptions extends Publisher {
  /** The kubeconfig: its file, or what it says. */
  readonly file: string | Kubeconfig;
  /** What is shown instead of its client certificate. */
  readonly pair?: ClientPairSource;
  /** podloop's version, for the API server's log. */
  readonly version: string;
  /** Requests a second in the long run, and at once: a kubelet's `kubeAPIQPS` and `kubeAPIBurst`. */
  readonly rateLimit: { readonly perSecond: number; readonly burst: number };
  /** How long the node's lease and status may take to be sent. */
  readonly heartbeatTimeoutMs: number;
  /** Of the agent: for programs that hand out credentials, and to find a proxy that the kubeconfig does not name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The clients of a node. */
export interface KubeClients {
  /** For everything but heartbeats. */
  readonly api: HttpKubeClient;
  /**
   * For the node's lease and status: over a connection of its own, with a short timeout and no limit, so that nothing else
   * can hold them up.
   */
  readonly heartbeat: HttpKubeClient;
  /** The API server, as the kubeconfig names it. */
  readonly server: string;
  /** Ends both. Idempotent. */
  close(): void;
}

/**
 * Reads a kubeconfig and what it names; connects to nobody yet. Rejects with KUBECONFIG_INVALID, or with OPTION_INVALID for
 * a proxy of the environment.
 */
export async function openKubeClients(options: KubeClientsOptions): Promise<KubeClients> {
  const { file, pair, version, rateLimit, heartbeatTimeoutMs, environment, channels, clock, logger } =
    options;
  const kubeconfig = typeof file === 'string' ? await readKubeconfigFile(file) : file;
  const credentials = await Credentials.open({
    ...{ kubeconfig, environment, channels, clock, logger },
    ...(pair && { pair }),
  });
  const { server, proxyUrl } = kubeconfig;
  const proxy = proxyUrl === undefined ? findProxy(new URL(server), environment) : readProxyUrl(proxyUrl);
  if (proxy !== undefined) {
    logger.info('API server is reached through a proxy', { server, proxy: joinHostPort(proxy) });
  }
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const userAgent = `podloop/${version} (${process.platform}/${arch})`;
  const common = { kubeconfig, credentials, ...(proxy && { proxy }), userAgent, channels, clock };
  const api = new HttpKubeClient({ ...common, rateLimit });
  const heartbeat = new HttpKubeClient({ ...common, timeoutMs: heartbeatTimeoutMs });
  return {
    ...{ api, heartbeat, server },
    close: () => {
      api.close();
      heartbeat.close();
    },
  };
}

/** Reads a kubeconfig. Rejects with KUBECONFIG_INVALID. */
export async function readKubeconfigFile(path: string): Promise<Kubeconfig> {
  const file = resolve(path);
  return readKubeconfig(await readText(file), file);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new PodloopError('KUBECONFIG_INVALID', `${file} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
