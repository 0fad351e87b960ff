/**
 * The Node object as far as a node reads and writes its own.
 *
 * Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';

/** A Node as it is sent, and as {@link readNode} has understood it. Times are RFC 3339, amounts are quantities. */
export interface NodeObject {
  readonly apiVersion: 'v1';
  readonly kind: 'Node';
  readonly metadata: NodeMetadata;
  readonly spec: NodeSpec;
  readonly status: NodeStatus;
}

/** What a node reads and sets of its metadata. */
export interface NodeMetadata {
  readonly name: string;
  /** The API server's; absent in a Node that is to be created. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Somebody has deleted it, and somebody else keeps it from going yet. */
  readonly deletionTimestamp?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a node reads and sets of its spec. */
export interface NodeSpec {
  readonly providerID?: string;
  readonly taints?: readonly NodeTaint[];
  /** Cordoned. */
  readonly unschedulable?: boolean;
  readonly podCIDRs?: readonly string[];
}

/** Keeps pods away that do not tolerate it. */
export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
}

/** What a taint does. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Amounts by resource: `{ cpu: '2', memory: '4Gi' }`. */
export type Amounts = Readonly<Record<string, string>>;

/** The parts of the status that a node sets; what others have set there is not in it. */
export interface NodeStatus {
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
  /** Those of others included, in the order of the object. */
  readonly conditions: readonly NodeCondition[];
  readonly addresses: readonly NodeAddress[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint: { readonly Port: number } };
  readonly nodeInfo?: NodeInfo;
  readonly images: readonly NodeImage[];
  readonly runtimeHandlers?: readonly NodeRuntimeHandler[];
  readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  readonly declaredFeatures?: readonly string[];
  /** What the control plane is not to detach yet; podloop has none of its own. */
  readonly volumesInUse?: readonly string[];
}

/** One condition; types of others (NetworkUnavailable, a problem detector's) are left alone. */
export interface NodeCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastHeartbeatTime?: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Under which address or name a node is found. */
export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/** NodeSystemInfo. */
export interface NodeInfo {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  /** Deprecated, and empty always. */
  readonly kubeProxyVersion: string;
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly swap?: { readonly capacity: number };
  /** Known to API servers since v1.37; older ones drop it. */
  readonly runningInUserNamespace?: boolean;
}

/** An image that the node has. */
export interface NodeImage {
  readonly names: readonly string[];
  /** Absent where it is nothing. */
  readonly sizeBytes?: number;
}

/** What the runtime can do for pods of one RuntimeClass handler; the default one has no name. */
export interface NodeRuntimeHandler {
  readonly name: string;
  readonly features: { readonly recursiveReadOnlyMounts: boolean; readonly userNamespaces: boolean };
}

/**
 * What an API server has sent, as a Node; undefined when it is none. Leaves out what has another shape than it should
 * have, and does not look into what a node only writes.
 */
export function readNode(value: unknown): NodeObject | undefined {
  const { metadata, spec, status } = asRecord(value);
  const { name, uid, resourceVersion, deletionTimestamp, labels, annotations } = asRecord(metadata);
  if (typeof name !== 'string' || name === '') return undefined;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
      ...(typeof deletionTimestamp === 'string' ? { deletionTimestamp } : {}),
      labels: textsOf(labels),
      annotations: textsOf(annotations),
    },
    spec: readSpec(asRecord(spec)),
    status: readStatus(asRecord(status)),
  };
}

function readSpec({ providerID, taints, unschedulable, podCIDRs }: Fields): NodeSpec {
  return {
    ...(typeof providerID === 'string' ? { providerID } : {}),
    ...(Array.isArray(taints) ? { taints: taints.filter(isTaint) } : {}),
    ...(unschedulable === true ? { unschedulable } : {}),
    ...(Array.isArray(podCIDRs) ? { podCIDRs: podCIDRs.filter((each) => typeof each === 'string') } : {}),
  };
}

function readStatus(status: Fields): NodeStatus {
  const { daemonEndpoints, nodeInfo, runtimeHandlers, features, declaredFeatures, volumesInUse } = status;
  return {
    capacity: textsOf(status['capacity']),
    allocatable: textsOf(status['allocatable']),
    conditions: listOf(status['conditions']).filter(isCondition),
    addresses: listOf(status['addresses']).filter(isAddress),
    images: listOf(status['images']) as readonly NodeImage[],
    ...(isRecord(daemonEndpoints)
      ? { daemonEndpoints: daemonEndpoints as unknown as NonNullable<NodeStatus['daemonEndpoints']> }
      : {}),
    ...(isRecord(nodeInfo) ? { nodeInfo: nodeInfo as unknown as NodeInfo } : {}),
    ...(Array.isArray(runtimeHandlers)
      ? { runtimeHandlers: runtimeHandlers as readonly NodeRuntimeHandler[] }
      : {}),
    ...(isRecord(features) ? { features } : {}),
    ...(Array.isArray(declaredFeatures) ? { declaredFeatures: declaredFeatures as readonly string[] } : {}),
    ...(Array.isArray(volumesInUse) ? { volumesInUse: volumesInUse as readonly string[] } : {}),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function asRecord(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textsOf(value: unknown): Record<string, string> {
  const pairs = Object.entries(asRecord(value));
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}

function isCondition(value: unknown): value is NodeCondition {
  const { type, status } = asRecord(value);
  return typeof type === 'string' && typeof status === 'string';
}

function isAddress(value: unknown): value is NodeAddress {
  const { type, address } = asRecord(value);
  return typeof type === 'string' && typeof address === 'string';
}

function isTaint(value: unknown): value is NodeTaint {
  const { key, effect } = asRecord(value);
  return typeof key === 'string' && typeof effect === 'string';
}
