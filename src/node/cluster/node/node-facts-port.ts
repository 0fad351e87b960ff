import { lookup } from 'node:dns/promises';
import type { NodeFactsPort, RuntimeInfo } from '#cluster';
import { type CriClient, formatRuntimeVersion } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { readOwnMounts } from '#base/proc/mountinfo.js';
import { splitNodeIps } from '#base/wire/node-ip.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { readNodeIpFacts } from '../../resources/facts/host-ips.js';
import { type CapacityOptions, readCapacityFacts } from '../../resources/facts/read-capacity-facts.js';
import { findAttachedMount } from './find-attached-mount.js';
import { readMachineInfo } from './read-machine-info.js';

/** What {@link buildNodeFactsPort} needs. */
export interface NodeFactsPortOptions {
  readonly options: CapacityOptions & Pick<AgentOptions, 'nodeIp'>;
  /** The runtime's name, as it reports it. */
  readonly runtimeName: string;
  readonly nodeName: string;
  readonly hostname: string;
  readonly client: Pick<CriClient, 'status' | 'version'>;
  readonly changes: Pick<RuntimeChanges, 'listImages'>;
  /** The port at which the API server reaches the agent; undefined while nothing listens there. */
  readonly kubeletPort: () => number | undefined;
}

/** Returns the facts about this machine and its runtime for its Node. */
export function buildNodeFactsPort(given: NodeFactsPortOptions): NodeFactsPort {
  const { options, runtimeName, client, changes, nodeName, hostname, kubeletPort } = given;
  const nodeIps = splitNodeIps(options.nodeIp);
  return {
    kubeletPort,
    hasAttachedMounts: async () => findAttachedMount(await readOwnMounts()) !== undefined,
    machine: async () => await readMachineInfo(),
    resources: async () => readCapacityFacts(options, runtimeName),
    addresses: async () => ({
      ...(await readNodeIpFacts(nodeIps, hostname)),
      ofName: nodeIps.length > 0 ? [] : await lookUp(nodeName),
    }),
    runtime: async (signal) => await readRuntimeInfo(client, signal),
    images: async (signal) => {
      const images = await changes.listImages(signal);
      return images.map(({ tags, digests, sizeBytes }) => ({
        names: [...digests, ...tags],
        sizeBytes: Number(sizeBytes),
      }));
    },
  };
}

async function readRuntimeInfo(
  client: NodeFactsPortOptions['client'],
  signal: AbortSignal,
): Promise<RuntimeInfo> {
  const [{ runtimeName, runtimeVersion }, { runtimeHandlers, features }] = await Promise.all([
    client.version({}, { signal }),
    client.status({}, { signal }),
  ]);
  return {
    version: formatRuntimeVersion(runtimeName, runtimeVersion),
    handlers: runtimeHandlers.map((handler) => ({
      name: handler.name,
      features: {
        recursiveReadOnlyMounts: handler.features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: handler.features?.userNamespaces ?? false,
      },
    })),
    ...(features === undefined ? {} : { supplementalGroupsPolicy: features.supplementalGroupsPolicy }),
  };
}

async function lookUp(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}
