import { type Channels } from '#base/channels/publishing-channel.js';
import type { ClusterNode, KubeClient, NodeEvent, NodeSettings } from '#cluster';
import { parseThresholds, withMemoryOfPods } from '#kube/node/eviction-thresholds.js';
import { type Supplies } from '#kube/node/node-supplies.js';
import { type CriClient } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type AgentParts } from '../../parts/agent-parts.js';
import { type PressureOptions } from '../../options/pressure-options.js';
import { type CapacityOptions } from '../../resources/facts/read-capacity-facts.js';
import { buildNodeFactsPort } from './node-facts-port.js';
import { NodeHealthWatch } from './node-health-watch.js';
import { PodRangeReporter } from '../../runtime/pod-range-reporter.js';
import { buildSupplyReaders } from './supply-readers.js';

/** What {@link buildClusterNode} needs. */
export interface ClusterNodeParts {
  readonly options: CapacityOptions &
    Pick<AgentOptions, 'nodeIp' | 'enforceNodeAllocatable' | keyof PressureOptions>;
  /** Further settings of the node (default: the kubelet's). */
  readonly settings?: Partial<Omit<NodeSettings, 'name' | 'kubeletVersion' | 'declaredFeatures'>>;
  readonly nodeName: string;
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  /** podloop's. */
  readonly version: string;
  readonly parts: Pick<AgentParts, 'pleg' | 'runtimeState' | 'changes' | 'imageDisk' | 'cgroups'>;
  readonly client: CriClient;
  /** The API server, over connections that only heartbeats use. */
  readonly heartbeat: KubeClient;
  /** The API server, for the watch of the Node. */
  readonly api: KubeClient;
  /** Drops the connections of `heartbeat`. */
  readonly dropConnection: () => void;
  /** The port at which the API server reaches the agent; undefined while nothing listens there. */
  readonly kubeletPort: () => number | undefined;
  readonly onEvent: (event: NodeEvent) => void;
  /** Called every ten seconds with the node's free resources. */
  readonly onSupplies: (supplies: Supplies) => void;
  /** See {@link ClusterNode}. */
  readonly onReached: () => void;
  readonly onRestored: () => void;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A node of a cluster, connected to an agent, and what keeps it running. */
export interface BuiltClusterNode {
  readonly health: Pick<NodeHealthWatch, 'announceEnd'>;
  readonly node: ClusterNode;
  /** Runs until the signal aborts; then resolves. */
  run(signal: AbortSignal): Promise<void>;
}

/** Makes this machine a node of a cluster. Loads what only such a node needs. */
export async function buildClusterNode(given: ClusterNodeParts): Promise<BuiltClusterNode> {
  const { options, nodeName, parts, client, channels, clock, logger } = given;
  const { ClusterNode, DEFAULT_NODE_SETTINGS, kubeletVersionOf, declaredFeaturesOf } =
    await import('#cluster');
  const settings: NodeSettings = {
    ...DEFAULT_NODE_SETTINGS,
    // The name of a node is its host name, as with a kubelet's --hostname-override.
    ...{ name: nodeName, hostname: nodeName, kubeletVersion: kubeletVersionOf(given.version) },
    ...given.settings,
    declaredFeatures: declaredFeaturesOf(given.runtimeName),
  };
  const health = new NodeHealthWatch({ ...parts, client, channels, clock });
  const node = new ClusterNode({
    ...{ settings, health, channels, clock, logger },
    client: given.heartbeat,
    api: given.api,
    dropConnection: given.dropConnection,
    facts: buildNodeFactsPort({
      options,
      runtimeName: given.runtimeName,
      client,
      nodeName,
      hostname: settings.hostname,
      changes: parts.changes,
      kubeletPort: given.kubeletPort,
    }),
    pressure: {
      readers: buildSupplyReaders({
        rootDir: options.rootDir,
        imageDisk: parts.imageDisk,
        cgroups: parts.cgroups,
      }),
      hard: parseThresholds(withMemoryOfPods(options.evictionHard, options)),
      soft: parseThresholds(options.evictionSoft),
      transitionPeriodMs: options.evictionPressureTransitionPeriodMs,
      onLooked: given.onSupplies,
    },
    ...{ onEvent: given.onEvent, onReached: given.onReached, onRestored: given.onRestored },
  });
  const podRange = new PodRangeReporter({ client, clock, logger });
  node.onNode((each) => podRange.note(each?.spec.podCIDRs ?? []));
  return {
    node,
    health,
    run: async (signal) => {
      await Promise.all([health.run(signal), node.run(signal), podRange.run(signal)]);
    },
  };
}
