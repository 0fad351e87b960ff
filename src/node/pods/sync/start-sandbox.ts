import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { buildSandboxConfig, toResolverFacts } from '../../runtime/config/build-sandbox-config.js';
import { ANNOTATIONS, type IdRange, type PodPaths, type PodStatus, quoteRuntimeError } from '#watch';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import { computeHostNames, type PodHostNames } from '../../runtime/config/pod-hostname.js';
import { describeMissingUsers } from '../../runtime/config/security-context.js';
import { describeResolverLimits, lacksClusterDns } from '../../runtime/config/resolver-config.js';
import { type RuntimeChanges, type SandboxConfig } from '../../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { hasCode } from '#base/errors/errors.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { sandboxStartEnded } from '#base/channels/start-channels.js';

import { podHash, sandboxHash } from '../actions/container-hash.js';
import { formatHostsFile, formatNodeHostsFile, readNodeHosts, writeHostsFile } from './hosts-file.js';
import { type PodActions } from '../actions/pod-actions.js';
import { type StartedSandbox } from '../containers/configure-container.js';
import { type SyncFailure } from './sync-failure.js';
import { type PodCgroupParents, type PodReferents, type PodUsers } from './sync-pod-ports.js';

/** Options of {@link SandboxStarter}. */
export interface SandboxStarterOptions extends Publisher {
  readonly clock: Clock;
  readonly changes: RuntimeChanges;
  readonly events: PodEventRecorder;
  readonly paths: PodPaths;
  readonly node: () => NodeFacts;
  readonly cgroups?: PodCgroupParents | undefined;
  /** Without them, no pod has users of its own. */
  readonly users?: PodUsers | undefined;
  /** Without them, a pod's spec names the handler itself. */
  readonly referents?: Pick<PodReferents, 'getRuntimeHandler'> | undefined;
  /** The node's own /etc/hosts, for pods on its network. */
  readonly nodeHostsFile?: string;
}

/** The sandbox that a pod needs. */
export interface SandboxStart {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly actions: Pick<PodActions, 'sandboxAttempt' | 'sandboxId'>;
  /** Since when the pod is on this node, RFC 3339; written on the sandbox, so that it survives the agent. */
  readonly startTime: string | undefined;
}

interface SandboxWish {
  readonly pod: NodePod;
  readonly config: SandboxConfig;
  readonly idRange: IdRange | undefined;
  /** The id of the present one. */
  readonly sandboxId: string | undefined;
  readonly onMaking: () => void;
}

/** The result of one attempt: a sandbox, the runtime's refusal for a handler, or why no attempt was made. */
type Attempt =
  | { readonly id: string; readonly config: SandboxConfig; readonly idRange: IdRange | undefined }
  | { readonly refusal: unknown; readonly runtimeHandler: string }
  | { readonly failure: SyncFailure };

/** The sandbox to start containers in, or why there is none. */
export type SandboxOutcome = { readonly sandbox: StartedSandbox } | { readonly failure: SyncFailure };

/** Creates the sandbox of a pod or uses the present one, with everything that its containers share. */
export class SandboxStarter {
  readonly #options: SandboxStarterOptions;

  constructor(options: SandboxStarterOptions) {
    this.#options = options;
  }

  /**
   * Calls `onMaking` when the runtime was just asked for a new sandbox, which takes most of the start time of
   * a pod.
   *
   * Never calls it for a present sandbox. Rejects only with the signal's reason.
   */
  async start(
    wanted: SandboxStart,
    signal: AbortSignal,
    onMaking: () => void = () => undefined,
  ): Promise<SandboxOutcome> {
    const { changes } = this.#options;
    const { pod, observed, actions } = wanted;
    const node = this.#options.node();
    const { metadata, spec } = pod;
    let made = await this.#attempt(wanted, node, signal, onMaking);
    // The runtime wants the cgroups of pods in the form of the other driver.
    if ('refusal' in made && (await this.#learn(made))) {
      made = await this.#attempt(wanted, node, signal, onMaking);
    }
    if ('refusal' in made) return { failure: this.#notCreated(pod, made.refusal) };
    if ('failure' in made) return made;
    try {
      const { id, config, idRange } = made;
      const options = { signal, pod: metadata };
      const isNew = actions.sandboxId === undefined;
      if (isNew) this.#recordDnsProblems(pod, node);
      const onNode = spec.hostNetwork === true;
      const ips = onNode ? ['127.0.0.1'] : isNew ? await changes.getSandboxIps(id, options) : observed.ips;
      const names = computeHostNames(pod, node.clusterDomain);
      const hostsFile = node.canMount ? await this.#writeHosts(pod, names, ips) : undefined;
      return { sandbox: { id, config, ips, hostsFile, idRange } };
    } catch (error) {
      signal.throwIfAborted();
      return { failure: failureOf('ConfigPodSandbox', pod, 'ConfigPodSandboxError', error) };
    }
  }

  async #attempt(
    { pod, observed, actions, startTime }: SandboxStart,
    node: NodeFacts,
    signal: AbortSignal,
    onMaking: () => void,
  ): Promise<Attempt> {
    const { paths } = this.#options;
    const { spec } = pod;
    let cgroupParent: string;
    try {
      cgroupParent = await this.#findCgroupParent({ pod, observed, actions }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (hasCode(error, 'CGROUP_DRIVER_CONFLICT')) return { failure: this.#notCreated(pod, error) };
      return { failure: failureOf('ConfigPodSandbox', pod, 'ConfigPodSandboxError', error) };
    }
    const annotations = {
      [ANNOTATIONS.sandboxHash]: sandboxHash(pod),
      [ANNOTATIONS.podHash]: podHash(pod),
      [ANNOTATIONS.cgroupParent]: cgroupParent,
      ...(startTime === undefined ? {} : { [ANNOTATIONS.podStartTime]: startTime }),
    };
    const attempt = actions.sandboxAttempt;
    let config: SandboxConfig;
    let idRange: IdRange | undefined;
    try {
      checkStrictGroups(pod, node);
      idRange = await this.#findIdRange({ pod, observed, actions }, signal);
      config = buildSandboxConfig(pod, { node, paths, attempt, cgroupParent, annotations, idRange });
    } catch (error) {
      signal.throwIfAborted();
      this.#publish(spec.runtimeClassName ?? '', undefined, false);
      return { failure: this.#notCreated(pod, error) };
    }
    return await this.#make({ pod, config, idRange, sandboxId: actions.sandboxId, onMaking }, signal);
  }

  /** Ignores refusals of a handler other than the default: it may have another driver than the node. */
  async #learn({ refusal, runtimeHandler }: Extract<Attempt, { refusal: unknown }>): Promise<boolean> {
    return runtimeHandler === '' && ((await this.#options.cgroups?.learn(refusal)) ?? false);
  }

  async #findCgroupParent(
    { pod, observed, actions }: Pick<SandboxStart, 'pod' | 'observed' | 'actions'>,
    signal: AbortSignal,
  ): Promise<string> {
    const { cgroups } = this.#options;
    if (cgroups === undefined) return '';
    const sandbox = observed.sandboxes.find(({ id }) => id === actions.sandboxId);
    return sandbox === undefined
      ? await cgroups.prepare(pod)
      : await cgroups.findParent(pod, sandbox, signal);
  }

  /** Undefined for a pod with the users of the node. */
  async #findIdRange(
    { pod, observed, actions }: Pick<SandboxStart, 'pod' | 'observed' | 'actions'>,
    signal: AbortSignal,
  ): Promise<IdRange | undefined> {
    const { users } = this.#options;
    if (pod.spec.hostUsers !== false) return undefined;
    if (users === undefined) throw new Error(describeMissingUsers(''));
    if (actions.sandboxId === undefined) {
      const problem = users.findProblem(await this.#handlerOf(pod, signal));
      if (problem !== undefined) throw new Error(problem);
    }
    const present = observed.sandboxes.find(({ id }) => id === actions.sandboxId);
    const ofSandbox = actions.sandboxId === undefined ? undefined : (present?.idRange ?? 'unknown');
    return await users.take(pod.metadata.uid, ofSandbox);
  }

  async #handlerOf(pod: NodePod, signal: AbortSignal): Promise<string> {
    const { referents } = this.#options;
    if (referents !== undefined) return await referents.getRuntimeHandler(pod, signal);
    return pod.spec.runtimeClassName ?? '';
  }

  async #make(
    { pod, config, idRange, sandboxId, onMaking }: SandboxWish,
    signal: AbortSignal,
  ): Promise<Attempt> {
    if (sandboxId !== undefined) return { id: sandboxId, config, idRange };
    const { clock, changes } = this.#options;
    const startedMs = clock.monotonicMs();
    let runtimeHandler = pod.spec.runtimeClassName ?? '';
    try {
      runtimeHandler = await this.#handlerOf(pod, signal);
      const making = changes.runPodSandbox(config, { signal, pod: pod.metadata, runtimeHandler });
      onMaking();
      const id = await making;
      this.#publish(runtimeHandler, clock.monotonicMs() - startedMs, true);
      return { id, config, idRange };
    } catch (error) {
      signal.throwIfAborted();
      this.#publish(runtimeHandler, clock.monotonicMs() - startedMs, false);
      return { refusal: error, runtimeHandler };
    }
  }

  #publish(runtimeHandler: string, durationMs: number | undefined, isStarted: boolean): void {
    publishTo(this.#options.channels, sandboxStartEnded, { runtimeHandler, durationMs, isStarted });
  }

  #notCreated(pod: NodePod, error: unknown): SyncFailure {
    const message = `Failed to create pod sandbox: ${quoteRuntimeError(error)}`;
    this.#options.events.record(pod.metadata, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    return failureOf('CreatePodSandbox', pod, 'CreatePodSandboxError', error);
  }

  async #writeHosts(
    { metadata, spec }: NodePod,
    names: PodHostNames,
    ips: readonly string[],
  ): Promise<string> {
    const { paths, nodeHostsFile = '/etc/hosts' } = this.#options;
    const { hostAliases: aliases = [] } = spec;
    const text =
      spec.hostNetwork === true
        ? formatNodeHostsFile(await readNodeHosts(nodeHostsFile), aliases)
        : formatHostsFile({ ips, names, aliases });
    return writeHostsFile(paths, metadata.uid, text);
  }

  /** Reports once per sandbox, so that further syncs do not repeat it. */
  #recordDnsProblems(pod: NodePod, node: NodeFacts): void {
    const { spec, metadata } = pod;
    const record = (reason: string, message: string): void => {
      this.#options.events.record(metadata, { type: 'Warning', reason, message });
    };
    if (node.isInCluster && lacksClusterDns(spec, node.clusterDns)) {
      const lack = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`;
      record('MissingClusterDNS', `pod: "${describePod(pod)}". ${lack}`);
    }
    for (const limit of describeResolverLimits(spec, metadata.namespace, toResolverFacts(node))) {
      record('DNSConfigForming', limit);
    }
  }
}

/** A runtime that does not know the policy would silently give more groups than the pod allows. */
function checkStrictGroups({ spec }: NodePod, { strictGroups }: NodeFacts): void {
  if (strictGroups !== false || spec.securityContext?.supplementalGroupsPolicy !== 'Strict') return;
  throw new Error('SupplementalGroupsPolicy=Strict is not supported in this node');
}

function describePod({ metadata }: NodePod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

function failureOf(action: SyncFailure['action'], pod: NodePod, reason: string, error: unknown): SyncFailure {
  const subject = describePod(pod);
  const what = action === 'CreatePodSandbox' ? 'create sandbox for pod' : 'set up sandbox of pod';
  const message = `Failed to ${what} "${subject}": ${quoteRuntimeError(error)}`;
  return { action, subject, reason, message, cause: error };
}
