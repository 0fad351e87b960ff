/**
 * Puts the parts of the runtime together, in the order in which they need each other. Nothing is taken up yet of what
 * an earlier runtime has left: that is {@link PodRegistry.load}.
 *
 * @module
 */
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { packageVersion } from '#base/package-version.js';
import { Cgroups, toCgroupPrefix } from './cgroups/cgroups.js';
import { PodStats } from './stats/pod-stats.js';
import { type ContainerHost } from './container/container-host.js';
import { EventHub } from './pods/event-hub.js';
import { findTools, TOOL_PATH } from './process/find-tools.js';
import { ImageStore } from './images/image-store.js';
import { type ImageVerifierOptions, ImageVerifiers } from './images/image-verifiers.js';
import { detectIsolation, type IsolationChoice } from './isolation/detect-isolation.js';
import { NanoClock } from './nano-clock.js';
import { NamespaceConnector } from './network/namespace-connector.js';
import { type NetworkMode } from './network/network-choice.js';
import { PodNetwork } from './network/pod-network.js';
import { PodEvents } from './pods/pod-events.js';
import { PodRegistry } from './pods/pod-registry.js';
import { readBootId } from './process/child-identity.js';
import { ProcessTable } from './process/process-table.js';
import { writeIfOther } from '#base/fs/whole-file.js';
import { type RegistryOptions } from './registry/registry-client.js';
import { type RpcContext } from './rpc/rpc-context.js';
import { SandboxParts } from './pods/sandbox-parts.js';
import { streamsOf } from './streaming/runtime-streams.js';
import { StreamingServer } from './streaming/streaming-server.js';
import { SUPERVISOR_SCRIPT } from './container/supervisor-script.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What may be chosen of a runtime's parts. */
export interface PartChoices {
  /** How containers are isolated (default: the best that is possible). */
  readonly isolation?: IsolationChoice;
  /** What network pods get (default: an address of their own where that is possible). */
  readonly network?: NetworkMode;
  /** The range of the pods' addresses, as `10.88.0.0/16` (default: one that nothing else uses). */
  readonly podCidr?: string;
  /** Folders with CNI plugins, with colons between them, and the folder with their configuration lists. */
  readonly cniBinDir?: string;
  readonly cniConfDir?: string;
  /** The port on loopback for the streams of Exec, Attach and PortForward (default: any free one). */
  readonly streamingPort?: number;
  /** How registries of images are reached (default: none is asked). */
  readonly registry?: RegistryOptions;
  /** Programs that have to agree to each pull (default: none, so that no signature is checked). */
  readonly imageVerifiers?: ImageVerifierOptions | undefined;
  /** How many events wait for one reader of GetContainerEvents before it is dropped (default: 1000). */
  readonly eventQueueCapacity?: number;
}

/** What {@link makeContext} needs. */
export interface ContextOptions extends PartChoices {
  /** Absolute, there already. */
  readonly rootDir: string;
  readonly imageDirs: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** See the module's description. Throws PLATFORM_UNSUPPORTED or OPTION_INVALID. */
export async function makeContext(options: ContextOptions): Promise<RpcContext> {
  const { rootDir, imageDirs, registry, imageVerifiers, clock, logger } = options;
  const verifiers = imageVerifiers && (await ImageVerifiers.open({ ...imageVerifiers, clock, logger }));
  const time = new NanoClock(clock);
  const hub = new EventHub({ readerCapacity: options.eventQueueCapacity });
  const script = join(rootDir, 'supervisor.sh');
  await makeFolder(rootDir, 0o700);
  // Running supervisors read the script as they go: the old file stays theirs, the name gets a new one.
  await writeIfOther(script, SUPERVISOR_SCRIPT);
  const processes = new ProcessTable({ clock });
  const images = await ImageStore.open({ rootDir, imageDirs, registry, verifiers, logger, clock });
  const cgroups = await Cgroups.detect({ prefix: toCgroupPrefix(rootDir), logger, clock });
  const { network, isolation, tools } = await makeWalls(options).catch(async (error: unknown) => {
    await images.close();
    throw error;
  });
  const parts = new SandboxParts({ isolation, cgroups, network, logger });
  const bootId = await readBootId();
  const path = TOOL_PATH;
  const host: ContainerHost = {
    ...{ clock, time, logger, processes, isolation, cgroups, images, bootId, script, path },
  };
  const pods = new PodRegistry({
    rootDir,
    host,
    tools,
    parts,
    onStarted: ({ id, record, startedAtNs }) => events.publish('started', id, record.sandboxId, startedAtNs),
    onStopped: ({ id, record, exit }) => events.publish('stopped', id, record.sandboxId, exit?.finishedAtNs),
    onSandboxLost: ({ id }) => events.publish('stopped', id, id),
  });
  const events = new PodEvents({ hub, pods, time, ipsOf: (id) => parts.ipsOf(id) });
  const stats = new PodStats({
    ...{ cgroups, processes, clock, time, logger, rootDir },
    measureWritable: (containerId) => images.writableUsage(containerId),
    findNetworkPid: ({ record, holderPid }) => (record.ownNetwork ? holderPid : undefined),
  });
  const version = packageVersion();
  const { streamingPort: port } = options;
  const connector = new NamespaceConnector({ clock });
  const ports = streamsOf(pods, connector);
  const streaming = await StreamingServer.start({ ports, port, clock, logger }).catch(
    async (error: unknown) => {
      await network.close();
      await images.close();
      throw error;
    },
  );
  return {
    ...{ streaming, connector, version },
    choices: {
      ...{ isolation: options.isolation ?? 'auto', network: options.network ?? 'auto', imageDirs },
      imageVerifierDirs: imageVerifiers === undefined ? [] : [imageVerifiers.binDir],
    },
    ...{ pods, images, cgroups, stats, events, hub, isolation, parts, network, clock, time, logger, rootDir },
  };
}

/**
 * The network comes first, since it says whether sandboxes have one of their own. It is there without walls, too: for
 * what an earlier runtime, which had them, has made.
 */
async function makeWalls(options: ContextOptions) {
  const { rootDir, clock, logger, podCidr, cniBinDir, cniConfDir } = options;
  const tools = await findTools();
  const { isolation: choice = 'auto', network: mode = 'auto' } = options;
  const network = await PodNetwork.open({ mode, rootDir, podCidr, cniBinDir, cniConfDir, logger, clock });
  try {
    const isolatesNetwork = network.isolates;
    const isolation = await detectIsolation({ choice, rootDir, tools, clock, logger, isolatesNetwork });
    return { tools, isolation, network };
  } catch (error) {
    await network.close();
    throw error;
  }
}
