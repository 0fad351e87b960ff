/**
 * What a node of a cluster needs of the agent that it is the face of, each as small as it can be.
 *
 * @module
 */
import { type NodeIpFacts } from '#base/wire/node-ip.js';
import { type ResourceFacts } from './compute-resources.js';
import { type NodeImage, type NodeInfo, type NodeRuntimeHandler } from './node-object.js';

/** How well the agent and its runtime are, as of now. */
export interface NodeHealth {
  /**
   * False as long as the agent has not found out yet: a node that was Ready before the agent was restarted is not said to
   * be NotReady only because nobody has looked.
   */
  readonly isKnown: boolean;
  /** Why pods cannot be run, in the kubelet's words and order; empty when they can. One hung pod is no such reason. */
  readonly problems: readonly string[];
  /** Who is to blame, as in `ContainerStatus of default/web has hung for 2m10s`; said behind the problems. */
  readonly culprit?: string;
}

/** Reports the health of the agent. */
export interface NodeHealthPort {
  health(): NodeHealth;
  /** Calls `listener` whenever health may have changed, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

/** What does not change while the machine runs. */
export type MachineInfo = Omit<NodeInfo, 'containerRuntimeVersion' | 'kubeletVersion' | 'kubeProxyVersion'>;

/** What the runtime has said of itself. */
export interface RuntimeInfo {
  /** `containerd://1.7.24`. */
  readonly version: string;
  /** Undefined for a runtime that does not report it. */
  readonly handlers?: readonly NodeRuntimeHandler[];
  /** Whether it heeds supplementalGroupsPolicy; undefined for a runtime that does not report it. */
  readonly supplementalGroupsPolicy?: boolean;
}

/**
 * Where the facts come from that a Node tells. Each is asked again and again, may reject and may hang: what was known
 * before holds then.
 */
export interface NodeFactsPort {
  machine(signal: AbortSignal): Promise<MachineInfo>;
  resources(signal: AbortSignal): Promise<ResourceFacts>;
  addresses(signal: AbortSignal): Promise<NodeIpFacts>;
  runtime(signal: AbortSignal): Promise<RuntimeInfo>;
  /** All that there are, in any order. */
  images(signal: AbortSignal): Promise<readonly NodeImage[]>;
  /** Whether anything of a volume is mounted that the control plane attaches to machines. Asked only where that matters. */
  hasAttachedMounts(signal: AbortSignal): Promise<boolean>;
  /** The port of the server for the API server, as of now; undefined while none listens. */
  kubeletPort(): number | undefined;
}

/** One event about the Node, in the kubelet's words. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  /** `NodeReady`. */
  readonly reason: string;
  /** `Node here status is now: NodeReady`. */
  readonly message: string;
}
