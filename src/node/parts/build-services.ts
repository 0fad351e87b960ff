import { randomUUID } from 'node:crypto';
import { type CriClient } from '#watch';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../options/agent-options.js';
import { type DesiredPods } from '../pods/loop/desired-pods.js';
import { type EndpointPod } from '../services/service-endpoints.js';
import { LocalServices, type PodNetworkKind } from '../services/local-services.js';
import { type StatusManager } from '../status/status-manager.js';
import { type PodEventLog } from '../telemetry/reports/pod-event-log.js';
import { type Feedback } from './feedback.js';

/** What {@link buildServices} needs. */
export interface BuildServicesOptions {
  readonly options: Pick<
    AgentOptions,
    'rootDir' | 'kubeconfig' | 'podDns' | 'serviceCidr' | 'clusterDns' | 'clusterDomain'
  >;
  readonly client: Pick<CriClient, 'status'>;
  readonly desired: DesiredPods;
  readonly manager: Pick<StatusManager, 'find'>;
  readonly events: Pick<PodEventLog, 'record'>;
  readonly feedback: Pick<Feedback, 'nameServers' | 'hasPods'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What the runtime in the box says of its network: the reasons of its condition. */
const OWN_BRIDGE = 'OwnBridge';
const ON_HOST = ['HostNetwork', 'NoPodNetwork', 'NoIsolation'];
const DEFAULT_DOMAIN = 'cluster.local';
const STATUS_MS = 5_000;

/** Opens what serves Services without a control plane. */
export async function buildServices(given: BuildServicesOptions): Promise<LocalServices> {
  const { options, client, desired, manager, events, feedback, clock, logger } = given;
  const { rootDir, kubeconfig, podDns, serviceCidr: cidr, clusterDns, clusterDomain } = options;
  const pods = (): EndpointPod[] =>
    [...desired.all()]
      .filter(({ metadata: { uid, deletionTimestamp } }) => {
        return deletionTimestamp === undefined && desired.findRejection(uid) === undefined;
      })
      .map((pod) => ({ pod, status: manager.find(pod.metadata.uid)?.status }));
  const readPodNetwork = async (signal: AbortSignal): Promise<PodNetworkKind> => {
    const { status } = await client.status({}, { signal, timeoutMs: STATUS_MS });
    const reason = status?.conditions.find(({ type }) => type === 'NetworkReady')?.reason ?? '';
    if (reason === OWN_BRIDGE) return 'own bridge';
    return ON_HOST.includes(reason) ? 'host' : 'other';
  };
  const services = await LocalServices.open({
    ...{ rootDir, cidr, pods, readPodNetwork, isEnabled: kubeconfig === '', clock, logger },
    // Whoever names a server has one.
    podDns: clusterDns.length > 0 ? false : podDns,
    domain: clusterDomain === '' ? DEFAULT_DOMAIN : clusterDomain,
    nameServers: () => feedback.nameServers.ask(),
    hasPods: () => feedback.hasPods.ask(),
    onEvent: ({ service, uid }, event) => {
      const { namespace, name } = service.metadata;
      events.record({ uid, namespace, name }, { ...event, about: { kind: 'Service', apiVersion: 'v1' } });
    },
    newUid: randomUUID,
  });
  desired.onChange(() => services.podsChanged());
  return services;
}
