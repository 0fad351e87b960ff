import { type CriClient } from '#watch';
import { type ApiPorts } from '../objects/api-routes.js';
import { type ServedConfigMap } from '../objects/config-maps.js';
import { type PodTable } from '../objects/pod-table.js';
import { type PersistentVolumeClaim } from '#kube/workloads/workload.js';
import { removeWithVolume } from '../workloads/claim-volumes.js';
import { type ServedWorkload } from '../workloads/workload-routes.js';
import { type Clock } from '#base/time/clock.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type AgentParts } from '../../parts/agent-parts.js';
import { applyManifests } from '../../desired/changes/apply-manifest.js';
import { debugPods } from '../../desired/changes/debug-pod.js';
import { containerActions } from './agent-actions.js';
import { containerLogs } from './agent-logs.js';
import { logFileLooks } from './log-file-looks.js';
import { type NodeIdentity } from '../../resources/facts/node-identity.js';
import { nodeVolumes } from './node-volumes.js';
import { nodeReader } from '../../resources/facts/node-reader.js';
import { type PolicyOptions, readNodePolicy } from '../../options/read-node-policy.js';
import { removeManifests } from '../../desired/changes/remove-manifest.js';
import { runningPods } from '../../running-pods.js';
import { servedWorkloads, workloadChanger } from './served-workloads.js';
import { runtimeStreams } from './agent-streams.js';
import { restartOnePod, stopOnePod } from '../../stop-one-pod.js';
import { WritableManifests } from '../../desired/changes/writable-manifests.js';

/** What {@link buildApiPorts} needs. */
export interface ApiPortsOptions {
  readonly options: Pick<AgentOptions, 'rootDir' | 'nodeLogsDir'> & PolicyOptions;
  readonly parts: AgentParts;
  readonly identity: NodeIdentity;
  readonly client: CriClient;
  readonly runtime: { readonly name: string; readonly version: string; readonly url: string };
  /** podloop's. */
  readonly version: string;
  readonly clock: Clock;
}

interface WrittenClaim {
  readonly source: string;
  readonly object: Pick<PersistentVolumeClaim, 'kind' | 'metadata'>;
}

/** The parts of an agent as its API reads them, and the actions that the API offers. */
export function buildApiPorts(
  given: ApiPortsOptions,
  pods: PodTable,
): Omit<ApiPorts, 'pages' | 'health' | 'journal' | 'agent'> {
  const { options, parts, identity, client, version, clock } = given;
  const { sources, desired, adoption, workers, stopped, closing, cache, events, paths, objectTimes } = parts;
  const { loop, room, pleg, workloads, services, debugged } = parts;
  const { objects } = sources.config;
  const isEnding = (): boolean => closing.signal.aborted;
  const stopPorts = { clock, desired, workers, stopped, isEnding };
  const nodeName = identity.name;
  const policy = readNodePolicy(options);
  const manifests = new WritableManifests({ clock, nodeName, manifests: sources.manifests, policy });
  const served = (): ServedWorkload[] => servedWorkloads({ workloads, claims: parts.localClaims, services });
  const volumes = nodeVolumes({
    ...{ claims: parts.localClaims, workloads, stopped, pods: () => desired.all() },
  });
  const claims = (): WrittenClaim[] =>
    workloads
      .claims()
      .filter(({ owner }) => owner === undefined)
      .map(({ source, ...metadata }) => ({ source, object: { kind: 'PersistentVolumeClaim', metadata } }));
  const written = { all: () => [...objects.all(), ...workloads.roots(), ...services.roots(), ...claims()] };
  return {
    ...{ clock, version, pods },
    stopPod: async (pod, graceSeconds, keepsClaims) => stopOnePod(stopPorts, pod, graceSeconds, keepsClaims),
    restartPod: async (pod, graceSeconds) => restartOnePod(stopPorts, pod, graceSeconds),
    stopped,
    debugPod: debugPods({ debugged, desired, manifests, policy, isEnding }),
    apply: applyManifests({
      ...{ nodeName, manifests, desired, adoption, objects, stopped, debugged, workloads, services, served },
    }),
    remove: removeWithVolume(removeManifests({ manifests, objects: written }), volumes),
    workloads: served,
    changeWorkload: workloadChanger(workloads),
    volumes,
    configMaps: () =>
      objects.all().flatMap(({ source, object }): ServedConfigMap[] => {
        if (object.kind !== 'ConfigMap') return [];
        return [{ source, object, createdAtMs: objectTimes.getMs({ source, object }) }];
      }),
    events: () => events.list(),
    node: nodeReader({
      ...{ identity, room, runtime: given.runtime, createdAtMs: clock.now() },
      problems: () => loop.state().errors,
    }),
    runningPods: () => runningPods(cache),
    logsDir: options.nodeLogsDir,
    looks: logFileLooks({ clock }),
    logs: containerLogs({ podLogsDir: paths.podLogsDir, cache, pleg }),
    streams: runtimeStreams({ client, pleg }),
    actions: containerActions({ client, rootDir: options.rootDir, clock }),
  };
}
