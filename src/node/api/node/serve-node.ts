import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, isTrue, jsonAnswer } from '../http/api-request.js';
import { parseFieldSelector, type SelectableFields } from '../objects/field-selector.js';
import { readLabelSelector } from '../objects/label-selector.js';

/** The node as the API shows it. */
export interface ServedNode {
  readonly name: string;
  readonly ips: readonly string[];
  readonly createdAtMs: number;
  /** Amounts by resource, as Kubernetes writes them. */
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Why no pod is synced now; empty when pods are synced. */
  readonly problems: readonly string[];
  /** `containerd://1.7.24`. */
  readonly containerRuntimeVersion: string;
  readonly kernelVersion: string;
  readonly architecture: string;
}

const FIELDS: SelectableFields<ServedNode> = {
  'metadata.name': ({ name }) => name,
  'spec.unschedulable': () => 'false',
};

/** GET /api/v1/nodes: this one, if it matches. */
export function listNodes(read: () => ServedNode, agentVersion: string): ApiHandler {
  return ({ query }) => {
    if (isTrue(query, 'watch')) throw new ApiError('MethodNotAllowed', 'nodes cannot be watched');
    const hasLabels = readLabelSelector(query);
    const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
    const items = [read()]
      .filter((node) => hasLabels(labelsOf(node)) && hasFields(node))
      .map((node) => render(node, agentVersion));
    return jsonAnswer({ kind: 'NodeList', apiVersion: 'v1', metadata: {}, items });
  };
}

/** GET /api/v1/nodes/{name}. */
export function getNode(read: () => ServedNode, agentVersion: string): ApiHandler {
  return ({ params: { name = '' } }) => {
    const node = read();
    if (node.name !== name) throw notFoundError('nodes', name);
    return jsonAnswer(render(node, agentVersion));
  };
}

function labelsOf({ name, architecture }: ServedNode): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
  };
}

function render(node: ServedNode, agentVersion: string): object {
  const { name, ips, capacity, allocatable, problems, containerRuntimeVersion, kernelVersion, architecture } =
    node;
  const isReady = problems.length === 0;
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name, creationTimestamp: toV1Time(node.createdAtMs), labels: labelsOf(node) },
    spec: {},
    status: {
      ...{ capacity, allocatable },
      conditions: [
        {
          ...{ type: 'Ready', status: isReady ? 'True' : 'False' },
          reason: isReady ? 'PodloopReady' : 'PodloopNotReady',
          message: isReady ? 'podloop keeps pods running' : problems.join('; '),
        },
      ],
      addresses: [
        ...ips.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: name },
      ],
      nodeInfo: {
        ...{ containerRuntimeVersion, kernelVersion, architecture, operatingSystem: 'linux' },
        kubeletVersion: `podloop v${agentVersion}`,
      },
    },
  };
}
