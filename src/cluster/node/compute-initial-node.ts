import { computeNodeStatus, type NodeFacts } from './compute-node-status.js';
import { type NodeObject, type NodeStatus, type NodeTaint } from './node-object.js';
import { type NodeEvent } from './node-ports.js';
import { type NodeSettings } from './node-settings.js';

/** Says that volumes of this node are attached by the control plane, as every kubelet does by default. */
const ATTACHED_BY_CONTROLLER = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** Those that a node sees to for as long as it is there. */
const DEFAULT_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
];

/** Keeps pods away until the controller of a cloud has completed the Node, which takes it off. */
const UNINITIALIZED: NodeTaint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};
/** Tells that controller which of a machine's addresses people have chosen. */
const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip';

const EMPTY_STATUS: NodeStatus = {
  ...{ capacity: {}, allocatable: {} },
  ...{ conditions: [], addresses: [], images: [] },
};

/** The labels of a Node that is made: pods of manifests are held against these as long as the Node was not seen. Pure. */
export function computeInitialLabels({
  hostname,
  operatingSystem: os = '',
  architecture: arch = '',
  labels,
}: {
  readonly hostname: string;
  readonly operatingSystem?: string;
  readonly architecture?: string;
  readonly labels: Readonly<Record<string, string>>;
}): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/hostname': hostname,
    ...(os === '' ? {} : { 'kubernetes.io/os': os, 'beta.kubernetes.io/os': os }),
    ...(arch === '' ? {} : { 'kubernetes.io/arch': arch, 'beta.kubernetes.io/arch': arch }),
    ...labels,
  };
}

/** The Node to create where there is none, and the events for its conditions. Pure. */
export function computeInitialNode(
  settings: NodeSettings,
  facts: NodeFacts,
  nowMs: number,
): { readonly node: NodeObject; readonly events: readonly NodeEvent[] } {
  const { name, hostname, providerId, cloud } = settings;
  const taints = [...settings.taints, ...(cloud === undefined ? [] : [UNINITIALIZED])];
  const { status, events } = computeNodeStatus({ status: EMPTY_STATUS }, facts, settings, nowMs);
  const node: NodeObject = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: computeInitialLabels({ hostname, ...facts.machine, labels: settings.labels }),
      annotations: {
        [ATTACHED_BY_CONTROLLER]: 'true',
        ...(cloud !== undefined && isAddress(cloud.nodeIp) ? { [PROVIDED_NODE_IP]: cloud.nodeIp } : {}),
      },
    },
    spec: {
      ...(taints.length === 0 ? {} : { taints }),
      ...(providerId === '' ? {} : { providerID: providerId }),
    },
    status,
  };
  return { node, events };
}

/**
 * A Node that was there already, with what a node sees to of the one that it would have created: the labels that every
 * node has, who attaches its volumes, the address that people have chosen, and nothing else. Pure.
 *
 * Other labels, taints and the spec are those of whoever runs the cluster by now; NodeRestriction would not let a node
 * change its taints.
 */
export function adoptNode(existing: NodeObject, initial: NodeObject): NodeObject {
  const own = DEFAULT_LABELS.flatMap((key): [string, string][] => {
    const value = initial.metadata.labels[key];
    return value === undefined ? [] : [[key, value]];
  });
  // Of an earlier agent that had a chosen address.
  const { [PROVIDED_NODE_IP]: _provided, ...annotations } = existing.metadata.annotations;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...Object.fromEntries(own) },
      annotations: { ...annotations, ...initial.metadata.annotations },
    },
  };
}

/** What a Node that was there already lacks of what it would have been created with, for people. Pure. */
export function findUnheeded(existing: NodeObject, initial: NodeObject): string[] {
  const labels = Object.entries(initial.metadata.labels)
    .filter(([key, value]) => !DEFAULT_LABELS.includes(key) && existing.metadata.labels[key] !== value)
    .map(([key, value]) => `label ${key}=${value}`);
  const taints = (initial.spec.taints ?? [])
    .filter(
      ({ key, effect }) =>
        // Taken off for good.
        key !== UNINITIALIZED.key &&
        !existing.spec.taints?.some((each) => each.key === key && each.effect === effect),
    )
    .map(({ key, value = '', effect }) => `taint ${key}${value === '' ? '' : `=${value}`}:${effect}`);
  const { providerID: id } = initial.spec;
  const provider = id !== undefined && existing.spec.providerID !== id ? [`providerID ${id}`] : [];
  return [...labels, ...taints, ...provider];
}

/** 0.0.0.0 and :: stand for the usual address of that family. */
function isAddress(nodeIp: string): boolean {
  return !['', '0.0.0.0', '::'].includes(nodeIp);
}
