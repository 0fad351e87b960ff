import { type NodeTaint } from './node-object.js';

/** What people have said about how this machine is a node. */
export interface NodeSettings {
  /** The name of its Node. */
  readonly name: string;
  /** The machine's own name, or the configured one; the label and the address `Hostname`. */
  readonly hostname: string;
  /** Whether the Node is created when there is none; else somebody else has to. */
  readonly register: boolean;
  /** Besides those that every node has. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of a Node that is created; those of one that exists are others' business. */
  readonly taints: readonly NodeTaint[];
  /** Empty for none. */
  readonly providerId: string;
  /** The controller of a cloud completes the Node; `nodeIp` is what people have written, or empty. Undefined for none. */
  readonly cloud: { readonly nodeIp: string } | undefined;
  /** As `kubectl get nodes` shows it. */
  readonly kubeletVersion: string;
  /** Sorted; what of Kubernetes' newer features the node says that it does. */
  readonly declaredFeatures: readonly string[];
  readonly statusUpdateFrequencyMs: number;
  readonly statusReportFrequencyMs: number;
  readonly leaseDurationMs: number;
  /** How many images a Node lists; -1 for all. */
  readonly maxImages: number;
}

/** The kubelet's: nodeStatusUpdateFrequency, nodeStatusReportFrequency, nodeLeaseDurationSeconds, nodeStatusMaxImages. */
export const DEFAULT_NODE_SETTINGS = {
  register: true,
  labels: {},
  taints: [],
  providerId: '',
  cloud: undefined,
  declaredFeatures: [],
  statusUpdateFrequencyMs: 10_000,
  statusReportFrequencyMs: 300_000,
  leaseDurationMs: 40_000,
  maxImages: 50,
} as const satisfies Partial<NodeSettings>;

/** The Kubernetes whose node podloop is: what it does and says is that of this version's kubelet. */
const KUBERNETES_VERSION = 'v1.37.2';

/**
 * The kubelet version that a Node reports: Kubernetes' own, with podloop's behind a plus.
 *
 * What stands behind a plus is no part of the order of versions (https://semver.org/#spec-item-10), so whoever holds
 * versions against one another (kubeadm before an upgrade, a policy, a script) takes the node for what it is: neither
 * a pre-release nor something newer than its kubelets.
 */
export function kubeletVersionOf(podloopVersion: string): string {
  return `${KUBERNETES_VERSION}+podloop.${podloopVersion.replace(/[^0-9A-Za-z.-]/g, '-')}`;
}

/** Whether the version that a Node reports is one that {@link kubeletVersionOf} has made. */
export function isPodloopVersion(kubeletVersion = ''): boolean {
  return kubeletVersion.includes('+podloop.');
}
