import { isExtendedResource } from '#kube/pod/pod-requests.js';
import { findQuantity, formatQuantity } from '#kube/fields/quantity.js';
import { computeConditions, type NodePressure } from './compute-node-conditions.js';
import { type NodeResources } from './compute-resources.js';
import { addressesForCloud, mergeAddresses } from './node-addresses.js';
import { type Amounts, type NodeImage, type NodeObject, type NodeStatus } from './node-object.js';
import { type MachineInfo, type NodeEvent, type NodeHealth, type RuntimeInfo } from './node-ports.js';
import { type NodeSettings } from './node-settings.js';

/** What is known of a node as of one moment; undefined is what could not be found out yet. */
export interface NodeFacts {
  readonly machine: MachineInfo | undefined;
  readonly resources: NodeResources | undefined;
  readonly addresses: NodeStatus['addresses'] | undefined;
  readonly runtime: RuntimeInfo | undefined;
  readonly images: readonly NodeImage[] | undefined;
  /** Whether anything of a volume is mounted that the control plane attaches to machines. */
  readonly hasAttachedMounts: boolean | undefined;
  readonly kubeletPort: number | undefined;
  readonly pressure: NodePressure;
  readonly health: NodeHealth;
}

/** A status, and the events for what has changed. */
export interface ComputedNodeStatus {
  readonly status: NodeStatus;
  readonly events: readonly NodeEvent[];
}

/** What of names an image may have in a Node; the kubelet's. */
const MAX_NAMES = 5;
/** Without these a node cannot be Ready. */
const REQUIRED = ['cpu', 'memory', 'pods', 'ephemeral-storage'];
const HUGE_PAGES = 'hugepages-';

/**
 * The status of a Node as it should be. Pure.
 *
 * What is known stands in place of what the Node says; what is not known stays as it was, and so does what others have
 * set: resources of others, their conditions, their fields.
 */
export function computeNodeStatus(
  { status: previous }: Pick<NodeObject, 'status'>,
  facts: NodeFacts,
  settings: Pick<NodeSettings, 'name' | 'kubeletVersion' | 'declaredFeatures' | 'maxImages' | 'cloud'>,
  nowMs: number,
): ComputedNodeStatus {
  const { resources, runtime, images, kubeletPort, pressure, health } = facts;
  const capacity = overlay(previous.capacity, resources?.capacity);
  const allocatable = handOut(overlay(previous.allocatable, resources?.allocatable), capacity);
  const { conditions, events } = computeConditions(previous.conditions, {
    ...{ nodeName: settings.name, pressure, health, nowMs },
    missingCapacities: REQUIRED.filter((name) => capacity[name] === undefined),
  });
  const { declaredFeatures } = settings;
  // A kubelet that was here before has left them. What is still mounted is not to be detached.
  const volumesInUse = facts.hasAttachedMounts === false ? undefined : previous.volumesInUse;
  const { runtimeHandlers, features, nodeInfo } = { ...previous, ...ofRuntime(runtime) };
  return {
    events,
    status: {
      ...{ capacity, allocatable, conditions },
      addresses:
        facts.addresses === undefined
          ? previous.addresses
          : settings.cloud === undefined
            ? mergeAddresses(previous.addresses, facts.addresses)
            : addressesForCloud(previous.addresses, facts.addresses, settings.cloud.nodeIp),
      images: images === undefined ? previous.images : chooseImages(images, settings.maxImages),
      // The API server's way to say that there is none.
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort ?? 0 } },
      ...(facts.machine === undefined && nodeInfo === undefined
        ? {}
        : { nodeInfo: computeNodeInfo(previous, facts, settings) }),
      ...(runtimeHandlers === undefined ? {} : { runtimeHandlers }),
      ...(features === undefined ? {} : { features }),
      ...(declaredFeatures.length === 0 ? {} : { declaredFeatures }),
      ...(volumesInUse === undefined ? {} : { volumesInUse }),
    },
  };
}

function ofRuntime(runtime: RuntimeInfo | undefined): Pick<NodeStatus, 'runtimeHandlers' | 'features'> {
  const { handlers, supplementalGroupsPolicy } = runtime ?? {};
  return {
    ...(handlers === undefined ? {} : { runtimeHandlers: handlers }),
    ...(supplementalGroupsPolicy === undefined ? {} : { features: { supplementalGroupsPolicy } }),
  };
}

function computeNodeInfo(
  { nodeInfo }: NodeStatus,
  { machine, runtime }: NodeFacts,
  { kubeletVersion }: Pick<NodeSettings, 'kubeletVersion'>,
): NonNullable<NodeStatus['nodeInfo']> {
  const nothing = { machineID: '', systemUUID: '', bootID: '', kernelVersion: '', osImage: '' };
  // Only what is known: the machine's swap goes when it is switched off.
  const { swap: _, ...before } = { ...nothing, operatingSystem: '', architecture: '', ...nodeInfo };
  return {
    ...before,
    ...(machine ?? (nodeInfo?.swap === undefined ? {} : { swap: nodeInfo.swap })),
    containerRuntimeVersion: runtime?.version ?? nodeInfo?.containerRuntimeVersion ?? '',
    kubeletVersion,
    // Of a kubelet that was here before; the field has no use any more.
    kubeProxyVersion: '',
  };
}

/** Amounts of the node over those that are there. Sizes of huge pages that it no longer has go; what others have set stays. */
function overlay(previous: Amounts, own: Amounts | undefined): Amounts {
  if (own === undefined) return previous;
  const kept = Object.entries(previous).filter(([name]) => !name.startsWith(HUGE_PAGES) || name in own);
  return Object.fromEntries(
    Object.entries({ ...Object.fromEntries(kept), ...own }).map(([name, amount]) => [
      name,
      canonical(amount),
    ]),
  );
}

/** What others have said that the node has besides, pods may have: all of it, and nothing that they have taken back. */
function handOut(allocatable: Amounts, capacity: Amounts): Amounts {
  const ofNode = Object.entries(allocatable).filter(([name]) => !isExtendedResource(name));
  const ofOthers = Object.entries(capacity).filter(([name]) => isExtendedResource(name));
  return Object.fromEntries([...ofNode, ...ofOthers]);
}

function canonical(amount: string): string {
  const quantity = findQuantity(amount);
  return quantity === undefined ? amount : formatQuantity(quantity);
}

/** The largest; those of one size in the order of their names, so that the list changes only with the images. */
function chooseImages(images: readonly NodeImage[], most: number): readonly NodeImage[] {
  const sorted = [...images].sort(
    (one, other) =>
      (other.sizeBytes ?? 0) - (one.sizeBytes ?? 0) || compare(one.names[0] ?? '', other.names[0] ?? ''),
  );
  return sorted.slice(0, most < 0 ? undefined : most).map(({ names, sizeBytes = 0 }) => ({
    names: names.slice(0, MAX_NAMES),
    // The API server leaves out a size of 0, and the two would never be the same.
    ...(sizeBytes > 0 ? { sizeBytes } : {}),
  }));
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
