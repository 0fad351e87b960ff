/**
 * The Kubernetes API of one node: the handler of each path.
 *
 * Source: https://kubernetes.io/docs/reference/kubernetes-api/
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { type AgentFacts, agentHandlers } from '../node/serve-agent.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { ApiRouter } from '../http/api-router.js';
import { APPLICABLE_KINDS, applyObject, type ApplyObject } from './apply-object.js';
import { getConfigMap, listConfigMaps, type ReadConfigMaps } from './config-maps.js';
import { listEvents, type ServedEvent } from './list-events.js';
import { getNode, listNodes, type ServedNode } from '../node/serve-node.js';
import { deleteObject, type RemoveObject } from './delete-object.js';
import { deletePod, type DeletePodOptions } from './delete-pod.js';
import { type DebugPod, ephemeralContainerHandlers } from './ephemeral-containers.js';
import { type ServedJournal } from './journal-events.js';
import { podFinder } from './list-pods.js';
import { kubeletPodFinder } from '../node/find-kubelet-pod.js';
import { addKubeletStreams } from '../node/kubelet-streams.js';
import { addNodeRoutes, type NodePorts } from '../node/node-routes.js';
import { type ContainerLogs } from './pod-log.js';
import { ObjectTurns } from './object-turns.js';
import { patchConfigMap, patchPod } from './patch-object.js';
import {
  type ActionVerb,
  type ClientAction,
  recordAction,
  recordUpgrade,
  type RecordActionOptions,
} from './record-action.js';
import { type PodTable } from './pod-table.js';
import { addReadingRoutes } from './reading-routes.js';
import {
  listStoppedPods,
  restartPod,
  type RestartPodOptions,
  startPod,
  stopExplainer,
  type StoppedPodReader,
} from './restart-pod.js';
import {
  addWorkloadRoutes,
  type ServedWorkload,
  workloadDiscovery,
  workloadResources,
} from '../workloads/workload-routes.js';
import { type ChangeWorkload } from '../workloads/change-workload.js';
import { listVolumes, type NodeVolumes, removeVolume } from '../workloads/claim-volumes.js';
import { withTables } from '../tables/answer-table.js';
import {
  attachToContainer,
  execInContainer,
  forwardPorts,
  type RuntimeStreams,
} from '../node/stream-container.js';

/** The inputs of the API: readers, and a few actions. */
export interface ApiPorts extends NodePorts {
  readonly clock: Clock;
  readonly pods: PodTable;
  readonly stopPod: DeletePodOptions['stop'];
  readonly restartPod: RestartPodOptions['restart'];
  readonly stopped: StoppedPodReader;
  readonly debugPod: DebugPod;
  readonly apply: ApplyObject;
  readonly remove: RemoveObject;
  readonly configMaps: ReadConfigMaps;
  readonly volumes: NodeVolumes;
  readonly workloads: () => readonly ServedWorkload[];
  readonly changeWorkload: ChangeWorkload;
  readonly events: () => readonly ServedEvent[];
  /** The history of the node. */
  readonly journal: ServedJournal;
  readonly node: () => ServedNode;
  readonly streams: RuntimeStreams;
  readonly logs: ContainerLogs;
  /** podloop's. */
  readonly version: string;
  /** The agent itself. */
  readonly agent: AgentFacts;
  /** Puts into the history what clients change that say who they are. */
  readonly recordAction?: (action: ClientAction) => void;
}

const NAMESPACE = '/api/v1/namespaces/:namespace';
const PODS = `${NAMESPACE}/pods`;

/** All paths. */
export function buildApiRouter(ports: ApiPorts): ApiRouter {
  const { clock, pods: table } = ports;
  const router = new ApiRouter();
  const byName = stopExplainer(podFinder(table), ports.node().name, ports.stopped);
  const {
    listPods: list,
    readLog,
    findPod,
    getPod,
  } = addReadingRoutes(router, { ...ports, findPod: byName });
  for (const [path, body] of Object.entries(DISCOVERY)) router.answer('GET', path, () => jsonAnswer(body));
  const recording = (verb: ActionVerb): RecordActionOptions => ({
    verb,
    findPod,
    record: ports.recordAction,
  });
  const stop = recordAction(deletePod({ table, findPod, stop: ports.stopPod }), recording('stop'));
  const restart = recordAction(
    restartPod({ table, findPod, restart: ports.restartPod }),
    recording('restart'),
  );
  const start = recordAction(startPod(ports.node().name, ports.stopped), recording('start'));
  router.answer('DELETE', `${PODS}/:name`, stop);
  router.answer('POST', `${PODS}/:name/restart`, restart);
  router.answer('POST', `${PODS}/:name/start`, start);
  router.answer('GET', '/stopped', listStoppedPods(ports.stopped));
  router.answer('GET', '/volumes', listVolumes(ports.volumes));
  router.answer('DELETE', '/volumes/:namespace/:name', removeVolume(ports.volumes));
  const agent = agentHandlers(ports.agent);
  router.answer('GET', '/agent', agent.show);
  router.answer('POST', '/agent/end', agent.end);
  const turns = new ObjectTurns({ nodeName: ports.node().name });
  router.answer('PATCH', `${PODS}/:name`, turns.inTurn('pods', patchPod(findPod, ports.apply)));
  const ephemeral = ephemeralContainerHandlers({ table, findPod, debug: ports.debugPod });
  router.answer('GET', `${PODS}/:name/ephemeralcontainers`, getPod);
  router.answer('PUT', `${PODS}/:name/ephemeralcontainers`, ephemeral.replace);
  router.answer('PATCH', `${PODS}/:name/ephemeralcontainers`, ephemeral.patch);
  const patchMap = patchConfigMap(ports.configMaps, ports.apply);
  router.answer('PATCH', `${NAMESPACE}/configmaps/:name`, turns.inTurn('configmaps', patchMap));
  for (const [plural, kind] of Object.entries(APPLICABLE_KINDS)) {
    const handler = applyObject(kind, plural, ports.apply);
    router.answer('POST', `${NAMESPACE}/${plural}`, handler);
    router.answer('PUT', `${NAMESPACE}/${plural}/:name`, turns.inTurn(plural, handler));
    if (kind === 'Pod') continue;
    const drop = deleteObject(kind, plural, ports.remove);
    router.answer('DELETE', `${NAMESPACE}/${plural}/:name`, turns.inTurn(plural, drop));
  }
  const version = (): number => table.version;
  const { apply, remove, workloads: readWorkloads, changeWorkload } = ports;
  addWorkloadRoutes(router, {
    ...{ read: readWorkloads, apply, remove, change: changeWorkload, version, clock, turns },
  });
  const read = (path: string, resource: string, handler: ApiHandler): void =>
    router.answer('GET', path, withTables(resource, clock, handler));
  for (const place of ['/api/v1', NAMESPACE]) {
    const events = { read: ports.events, nodeName: ports.node().name, version };
    read(`${place}/configmaps`, 'configmaps', listConfigMaps(ports.configMaps, version));
    read(`${place}/events`, 'events', listEvents(events));
  }
  read(`${NAMESPACE}/configmaps/:name`, 'configmaps', getConfigMap(ports.configMaps));
  read('/api/v1/nodes', 'nodes', listNodes(ports.node, ports.version));
  read('/api/v1/nodes/:name', 'nodes', getNode(ports.node, ports.version));
  const findKubeletPod = kubeletPodFinder(findPod);
  addNodeRoutes(router, ports, { listPods: list, readLog, findPod: findKubeletPod });
  const streaming = { streams: ports.streams, findPod };
  const exec = recordUpgrade(execInContainer(streaming), recording('exec'));
  const attach = attachToContainer(streaming);
  const portForward = forwardPorts(streaming);
  router.upgrade(`${PODS}/:name/exec`, exec);
  router.upgrade(`${PODS}/:name/attach`, attach);
  router.upgrade(`${PODS}/:name/portforward`, portForward);
  addKubeletStreams(router, { exec, attach, portForward }, findKubeletPod);
  return router;
}

/**
 * The supported resources, for programs that ask first, as kubectl does.
 *
 * Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 *
 * @module
 */

interface Resource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

const STREAM_VERBS = ['create', 'get'];

const RESOURCES: readonly Resource[] = [
  {
    ...{ name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod' },
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    ...{ shortNames: ['po'], categories: ['all'] },
  },
  { name: 'pods/log', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get'] },
  {
    ...{ name: 'pods/ephemeralcontainers', singularName: '', namespaced: true, kind: 'Pod' },
    verbs: ['get', 'patch', 'update'],
  },
  { name: 'pods/exec', singularName: '', namespaced: true, kind: 'PodExecOptions', verbs: STREAM_VERBS },
  { name: 'pods/attach', singularName: '', namespaced: true, kind: 'PodAttachOptions', verbs: STREAM_VERBS },
  {
    ...{ name: 'pods/portforward', singularName: '', namespaced: true },
    ...{ kind: 'PodPortForwardOptions', verbs: STREAM_VERBS },
  },
  {
    ...{ name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap' },
    ...{ verbs: ['create', 'delete', 'get', 'list', 'patch', 'update'], shortNames: ['cm'] },
  },
  {
    ...{ name: 'secrets', singularName: 'secret', namespaced: true, kind: 'Secret' },
    verbs: ['create', 'delete', 'update'],
  },
  {
    ...{ name: 'events', singularName: 'event', namespaced: true, kind: 'Event' },
    ...{ verbs: ['get', 'list'], shortNames: ['ev'] },
  },
  {
    ...{ name: 'nodes', singularName: 'node', namespaced: false, kind: 'Node' },
    ...{ verbs: ['get', 'list'], shortNames: ['no'] },
  },
];

/** The answers, by path. */
const DISCOVERY: Readonly<Record<string, object>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
  '/api/v1': {
    ...{ kind: 'APIResourceList', groupVersion: 'v1' },
    resources: [...RESOURCES, ...workloadResources('v1')],
  },
  ...workloadDiscovery(),
};
