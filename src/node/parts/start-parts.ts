import { Channels } from '#base/channels/publishing-channel.js';
import { type Readable } from 'node:stream';
import { splitNodeIps } from '#base/wire/node-ip.js';
import { type FolderLock, lockFolder, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentRuntime, connectAgentRuntime } from '../agent-runtime.js';
import { AgentApi } from '../api/agent/agent-api.js';
import { EndRequest } from '../api/node/serve-agent.js';
import { type ClusterLink, openClusterLink } from '../cluster/cluster-link.js';
import { type ManifestParser } from '../desired/manifests/parse-manifest.js';
import { AgentHistory } from '../history/agent-history.js';
import { type AgentOptions } from '../options/agent-options.js';
import { findTlsPort } from '../options/port-address.js';
import { readOptionFile } from '#base/fs/read-option-file.js';
import { HostIps, readNodeIpFacts } from '../resources/facts/host-ips.js';
import { settleOwnLimits } from '../resources/facts/own-limits.js';
import { checkMachine } from '../resources/facts/machine-requirements.js';
import { type NodeIdentity, readInstanceId, resolveNodeName } from '../resources/facts/node-identity.js';
import { type LogindPort } from '../resources/shutdown/logind.js';
import { AgentMetrics } from '../telemetry/collected/agent-metrics.js';
import { type LogState } from '../telemetry/metrics/log-metrics.js';
import { type AgentParts, buildAgentParts } from './agent-parts.js';
import { claimManifestSources } from './manifest-sources.js';
import { type Part, type PartList } from './part-list.js';

/** What the parts of an agent get besides its options. */
export interface AgentPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stdin: Readable;
  /** The command that starts podloop, for the embedded runtime. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** The environment of programs that return credentials, of a cluster or of registries (default: none). */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Further flags of the embedded runtime. */
  readonly runtimeFlags?: readonly string[];
  /** podloop's version, for clients that ask (default: `unknown`). */
  readonly version?: string;
  /** The state of the log, for the agent's health and its metrics (default: always healthy). */
  readonly log?: LogState;
  /** Reads manifests (default: in a thread of its own). */
  readonly manifestParser?: ManifestParser;
  /** The logind of the machine (default: by its programs). */
  readonly logind?: LogindPort;
  /** Where its parts publish, for somebody who listens to this agent alone (default: channels of its own). */
  readonly channels?: Channels;
  /** Called with the name of each part before it starts; an error ends the start (default: nothing). */
  readonly onStart?: (name: string) => void;
}

/** What a start of an agent has made, for what runs until its end. */
export interface StartedParts {
  /** Where its parts publish: nobody else hears them there. */
  readonly channels: Channels;
  readonly identity: NodeIdentity;
  readonly connected: AgentRuntime;
  readonly parts: AgentParts;
  readonly history: AgentHistory;
  readonly api: AgentApi;
  /** Where a client asks for the end of the agent and its pods. */
  readonly ending: EndRequest;
  /** Undefined for an agent without a cluster. */
  readonly link: ClusterLink | undefined;
}

const WELL: LogState = { dropped: 0, findProblem: () => undefined };

/**
 * Starts the parts that an agent has as long as it exists, in the order of its life.
 *
 * Claims the root folder, finds or starts the runtime, and reads the state that earlier agents have left.
 * Runs nothing yet. When it rejects, the list is to be stopped.
 */
export async function startParts(
  list: PartList,
  options: AgentOptions,
  ports: AgentPorts,
  signal: AbortSignal,
): Promise<StartedParts> {
  const { channels = new Channels(), clock, logger, stdin, manifestParser, logind } = ports;
  const { log = WELL, version = 'unknown', environment = {} } = ports;
  const start = async <Made>(part: Part<Made>): Promise<Made> => list.start(part, signal);

  await start({ name: 'requirements of the machine', start: async () => checkMachine(options) });
  await start({ name: 'limits of the agent', start: async () => settleOwnLimits(options, logger) });
  await start({ name: 'files of the servers', start: async () => checkServerFiles(options) });
  const nodeName = resolveNodeName(options.nodeName === '' ? undefined : options.nodeName);
  const link = await start(connectionPart(options, ports, nodeName, channels));
  await start(rootFolderPart(options, ports));
  const { identity, hostIps } = await start(identityPart(options, ports, nodeName, link));
  const connected = await start(runtimePart(options, ports, channels));
  const { client, name: runtimeName, url: runtimeUrl } = connected;
  const { instanceId } = identity;
  await start({
    name: 'claim of manifests',
    start: async () => claimManifestSources({ options, nodeName, instanceId, client, logger }),
  });
  const parts = await start({
    name: 'pods',
    start: async () =>
      buildAgentParts({
        ...{ options, identity, hostIps, client, runtimeName, runtimeUrl, stdin, link, clock, logger },
        ...{ manifestParser, channels, logind, environment },
      }),
    release: ({ pleg }) => pleg.closeSubscriptions(),
  });
  const common = { parts, client, identity, version, channels, clock, logger, runtime: connected };
  const history = await start({
    name: 'listeners of the history',
    start: () => new AgentHistory({ ...common, options }),
    release: (made) => made[Symbol.dispose](),
  });
  const metrics = await start({
    name: 'metrics',
    start: async () => AgentMetrics.start({ ...common, history, log, cluster: link }),
    release: (made) => made[Symbol.dispose](),
  });
  const ending = new EndRequest();
  // Only the process that systemd itself started gets this variable.
  const serviceManager = (environment['NOTIFY_SOCKET'] ?? '') === '' ? undefined : 'systemd';
  const findLogProblem = (): string | undefined => log.findProblem();
  const api = await start({
    name: 'API',
    start: async () =>
      AgentApi.start({
        ...{ ...common, metrics, history, options, findLogProblem, cluster: link?.auth },
        ...{ ending, serviceManager },
        readCluster: link && (() => link.report()),
      }),
    // Clients can watch how pods end, as it has started last.
    stop: async (made) => made.close(),
  });
  const kubeletPort = (): number | undefined => findTlsPort(options);
  await start({
    name: 'parts of the cluster',
    start: async () => link?.join({ parts, client, runtimeName, kubeletPort }, signal),
  });
  return { channels, identity, connected, parts, history, api, ending, link };
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

/** The connection to the API server of a node of a cluster. */
function connectionPart(
  options: AgentOptions,
  { clock, logger, environment = {}, version = 'unknown' }: AgentPorts,
  nodeName: string,
  channels: Channels,
): Part<ClusterLink | undefined> {
  return {
    name: 'connection to the cluster',
    start: async () =>
      options.kubeconfig === ''
        ? undefined
        : openClusterLink({ options, nodeName, version, environment, channels, clock, logger }),
    release: (link) => link?.close(),
  };
}

/** The claim of the root folder: nothing in it is read or written without. */
function rootFolderPart({ rootDir }: AgentOptions, { clock, logger }: AgentPorts): Part<FolderLock> {
  return {
    name: 'root folder',
    start: async (signal) => {
      const lock = await lockFolder(rootDir, NODE_ROOT_LOCK, { clock, signal });
      logger.info('Using root directory', { path: rootDir });
      return lock;
    },
    stop: async (lock) => lock.release(),
  };
}

/** Who the node is, and its addresses as of now. */
function identityPart(
  { rootDir, nodeIp }: AgentOptions,
  { logger }: AgentPorts,
  name: string,
  link: ClusterLink | undefined,
): Part<{ readonly identity: NodeIdentity; readonly hostIps: HostIps }> {
  return {
    name: 'identity of the node',
    start: async () => {
      const instanceId = await readInstanceId(rootDir);
      const hostIps = new HostIps({
        read: async () => readNodeIpFacts(splitNodeIps(nodeIp), name),
        ofNode: () => link?.nodeIps() ?? [],
        logger,
      });
      await hostIps.refresh();
      return { identity: { name, instanceId, ips: () => hostIps.current() }, hostIps };
    },
  };
}

/** The connection to the runtime, which is started if it is the embedded one. */
function runtimePart(
  { rootDir, runtimeEndpoint, runtimeRequestTimeoutMs: timeoutMs }: AgentOptions,
  { podloopCommand, runtimeFlags = [], version = 'unknown', clock, logger }: AgentPorts,
  channels: Channels,
): Part<AgentRuntime> {
  const given = {
    podloopCommand,
    runtimeFlags,
    version,
    channels,
    clock,
    logger,
    rootDir,
    runtimeEndpoint,
    timeoutMs,
  };
  return {
    name: 'runtime',
    start: async (signal) => connectAgentRuntime(given, signal),
    // An embedded one ends by itself, once the root folder has no owner and no pod is left.
    release: ({ client }) => client.close(),
  };
}
