import { type Channels } from '#base/channels/publishing-channel.js';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { isConcerned } from '../desired/config-objects.js';
import { type ManifestParser } from '../desired/manifests/parse-manifest.js';
import { DebugContainers } from '../desired/debug-containers.js';
import { StoppedPods } from '../desired/stopped-pods.js';
import { type CriClient } from '#watch';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodObjects } from '#kube/objects/config-object.js';
import { SecretHider } from '#kube/objects/secret-hider.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentOptions } from '../options/agent-options.js';
import { type ClusterHooks } from '../cluster/cluster-hooks.js';
import { type HostIps } from '../resources/facts/host-ips.js';
import { type LogindPort } from '../resources/shutdown/logind.js';
import { type NodeIdentity } from '../resources/facts/node-identity.js';
import { objectsBySource } from '../api/agent/objects-by-source.js';
import { ObjectTimes } from '../api/agent/object-times.js';
import { StatusManager } from '../status/status-manager.js';
import { podHash } from '../pods/actions/container-hash.js';
import { DesiredPods } from '../pods/loop/desired-pods.js';
import { Feedback } from './feedback.js';
import { PodEventLog } from '../telemetry/reports/pod-event-log.js';
import { PodSources } from './pod-sources.js';
import { buildServices } from './build-services.js';
import { buildWorkloads } from './build-workloads.js';
import { buildActingParts } from './acting-parts.js';
import { buildDecidingParts } from './deciding-parts.js';
import { buildObservingParts } from './observing-parts.js';

/** What {@link buildAgentParts} needs. */
export interface AgentPartsOptions {
  readonly options: AgentOptions;
  readonly identity: NodeIdentity;
  /** The addresses in the Node's identity. */
  readonly hostIps: Pick<HostIps, 'refresh' | 'onChange'>;
  readonly client: CriClient;
  /** The runtime's name for itself. */
  readonly runtimeName: string;
  readonly runtimeUrl: string;
  readonly stdin: Readable;
  readonly manifestParser: ManifestParser | undefined;
  /** The node's cluster; without it, pods come only from manifests. */
  readonly link?: ClusterHooks | undefined;
  /** The logind of the machine (default: by its programs). */
  readonly logind?: LogindPort | undefined;
  /** Of programs that return credentials (default: none). */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The parts of a node agent, wired together; none of them runs yet. */
export type AgentParts = Awaited<ReturnType<typeof buildAgentParts>>;

/**
 * Builds the parts in the order in which data flows: what is desired, what is observed, what acts, and what
 * decides.
 *
 * Reads the state that earlier agents have left in the root folder.
 */
export async function buildAgentParts(given: AgentPartsOptions) {
  const {
    options,
    identity,
    hostIps,
    client,
    runtimeName,
    runtimeUrl,
    stdin,
    manifestParser: parser,
    channels,
    clock,
    logger,
  } = given;
  const feedback = new Feedback();
  const secrets = new SecretHider();
  const common = { channels, clock, logger };
  const hide = (text: string, namespace: string | undefined): string => secrets.hide(text, namespace);
  const desired = new DesiredPods();
  const manager = new StatusManager(common);
  /** The pod as it is wanted, or as of its last reported status. */
  const findPod = (uid: string): NodePod | undefined => desired.find(uid) ?? manager.findPod(uid);
  const events = new PodEventLog({ ...common, hide, findPod });
  const stopped = await StoppedPods.open({
    ...{ logger, file: join(options.rootDir, 'stopped-pods.json') },
    onChanged: () => feedback.stopsChanged.notify(),
    onReleased: (uid) => feedback.podReleased.notify(uid),
  });
  const debugged = await DebugContainers.open({
    ...{ logger, file: join(options.rootDir, 'debug-containers.json') },
    definitionOf: podHash,
    onChanged: () => feedback.stopsChanged.notify(),
  });
  const objectTimes = await ObjectTimes.open({
    file: join(options.rootDir, 'created-objects.json'),
    ...common,
  });
  const workloads = await buildWorkloads({
    ...{ rootDir: options.rootDir, nodeName: identity.name, manager, stopped, events, feedback },
    ...{ clock, logger },
  });
  const services = await buildServices({
    ...{ options, client, desired, manager, events, feedback, clock, logger },
  });
  const sources = new PodSources({
    ...{ options, nodeName: identity.name, stdin, parser, stopped, debugged, workloads, services, ...common },
    onObjectsChanged: (change) => feedback.objectsChanged.notify(change),
  });
  feedback.stopsChanged.subscribe(() => sources.config.refresh());
  feedback.objectsChanged.subscribe((change) => {
    const all = sources.config.objects.all();
    objectTimes.update(all);
    // Before any pod can expose them.
    for (const { object } of all) if (object.kind === 'Secret') secrets.learn(object);
    const concerned = [...desired.all()].filter((pod) => isConcerned(pod, change));
    feedback.syncSoon.notify(concerned.map(({ metadata }) => metadata.uid));
  });
  const cluster = given.link?.openObjects({
    onSecret: (secret) => secrets.learn(secret),
    onSecretEnded: (secret) => secrets.forget(secret),
    onChanged: (uids) => feedback.syncSoon.notify(uids),
  });
  /** ConfigMaps and Secrets as pods see them. */
  const objects: PodObjects =
    cluster === undefined ? sources.config.objects : objectsBySource(sources.config.objects, cluster);
  const observing = await buildObservingParts({ ...common, options, identity, client, runtimeName });
  const acting = await buildActingParts({
    ...{ ...common, options, identity, hostIps, client, objects, events, observing, secrets },
    ...{ runtimeName, runtimeUrl, cluster, manager, feedback, services },
    ...{ link: given.link, environment: given.environment },
  });
  const deciding = buildDecidingParts({
    ...{ ...common, options, client, events, sources, stopped, debugged },
    ...{ observing, acting, cluster, secrets },
    ...{ link: given.link, logind: given.logind, desired, manager, feedback },
  });
  feedback.claimDeclared.subscribe(({ claim, spec }) => {
    acting.localClaims.declare(claim, spec).catch((error: unknown) => {
      logger.error('Volume of a claim cannot be made', error, { claim });
    });
  });
  feedback.podFinished.subscribe((uid) => workloads.podsChanged(uid));
  feedback.podEndChanged.subscribe((uid) => workloads.podsChanged(uid));
  feedback.nameServers.answerWith(() => acting.node.facts().resolver.servers);
  feedback.hasPods.answerWith(() => observing.ownUids().length > 0);
  // Statuses contain them.
  hostIps.onChange(() => feedback.syncSoon.notify([...desired.uids()]));
  return {
    hide,
    findPod,
    desired,
    manager,
    events,
    sources,
    stopped,
    debugged,
    workloads,
    services,
    objects,
    cluster,
    objectTimes,
    ...observing,
    ...acting,
    ...deciding,
  };
}
