import { type NodePod } from '../model/node-pod.js';
import { type PodEventRecorder } from '../model/pod-event-recorder.js';
import { buildSandboxConfig, computeHostname } from '../runtime/build-sandbox-config.js';
import { quoteRuntimeError } from '../runtime/describe-runtime-error.js';
import { ANNOTATIONS } from '../runtime/labels.js';
import { type NodeFacts } from '../runtime/node-facts.js';
import { type PodPaths } from '../runtime/pod-paths.js';
import { lacksClusterDns } from '../runtime/resolver-config.js';
import { type RuntimeChanges, type SandboxConfig } from '../runtime/runtime-changes.js';
import { type PodStatus } from '../runtime/runtime.js';

import { sandboxHash } from './container-hash.js';
import { type PodActions } from './pod-actions.js';
import { formatHostsFile, writeHostsFile } from './pod-files.js';
import { type StartedSandbox } from './start-container.js';
import { type SyncFailure } from './sync-failure.js';
import { type PodCgroupParents } from './sync-pod-ports.js';

/** What a {@link SandboxStarter} works with. */
export interface SandboxStarterOptions {
  readonly changes: RuntimeChanges;
  readonly events: PodEventRecorder;
  readonly paths: PodPaths;
  readonly node: () => NodeFacts;
  readonly cgroups?: PodCgroupParents | undefined;
}

/** What a sandbox is wanted for. */
export interface SandboxStart {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  readonly actions: Pick<PodActions, 'sandboxAttempt' | 'sandboxId'>;
  /** Since when the pod is on this node, RFC 3339; written on the sandbox, so that it outlives the agent. */
  readonly startTime: string | undefined;
}

/** The sandbox to start containers in, or why there is none. */
export type SandboxOutcome = { readonly sandbox: StartedSandbox } | { readonly failure: SyncFailure };

/** Makes the sandbox of a pod, or takes the one that is there, with all that its containers share. */
export class SandboxStarter {
  readonly #options: SandboxStarterOptions;

  constructor(options: SandboxStarterOptions) {
    this.#options = options;
  }

  /** Rejects only with the signal's reason. */
  async start(
    { pod, observed, actions, startTime }: SandboxStart,
    signal: AbortSignal,
  ): Promise<SandboxOutcome> {
    const { changes, paths } = this.#options;
    const node = this.#options.node();
    const { metadata, spec } = pod;
    let cgroupParent: string;
    try {
      cgroupParent = await this.#findCgroupParent({ pod, observed, actions }, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { failure: failureOf('ConfigPodSandbox', pod, 'ConfigPodSandboxError', error) };
    }
    const annotations = {
      [ANNOTATIONS.sandboxHash]: sandboxHash(pod),
      [ANNOTATIONS.cgroupParent]: cgroupParent,
      ...(startTime === undefined ? {} : { [ANNOTATIONS.podStartTime]: startTime }),
    };
    const attempt = actions.sandboxAttempt;
    const config = buildSandboxConfig(pod, { node, paths, attempt, cgroupParent, annotations });
    if (lacksClusterDns(spec, node.clusterDns)) this.#tellOfDns(pod);
    const made = await this.#make(pod, config, actions, signal);
    if (typeof made !== 'string') return { failure: made };
    try {
      const options = { signal, pod: metadata };
      const isNew = actions.sandboxId === undefined;
      const onNode = spec.hostNetwork === true;
      const ips = onNode ? ['127.0.0.1'] : isNew ? await changes.getSandboxIps(made, options) : observed.ips;
      const hostsFile =
        onNode || !node.canMount
          ? undefined
          : await writeHostsFile(
              paths,
              metadata.uid,
              formatHostsFile(pod, { ips, ...this.#names(pod, node) }),
            );
      return { sandbox: { id: made, config, ips, hostsFile } };
    } catch (error) {
      signal.throwIfAborted();
      return { failure: failureOf('ConfigPodSandbox', pod, 'ConfigPodSandboxError', error) };
    }
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

  async #make(
    pod: NodePod,
    config: SandboxConfig,
    { sandboxId }: Pick<PodActions, 'sandboxId'>,
    signal: AbortSignal,
  ): Promise<string | SyncFailure> {
    if (sandboxId !== undefined) return sandboxId;
    try {
      const runtimeHandler = pod.spec.runtimeClassName ?? '';
      return await this.#options.changes.runPodSandbox(config, { signal, pod: pod.metadata, runtimeHandler });
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to create pod sandbox: ${quoteRuntimeError(error)}`;
      this.#options.events.record(pod.metadata, {
        type: 'Warning',
        reason: 'FailedCreatePodSandBox',
        message,
      });
      return failureOf('CreatePodSandbox', pod, 'CreatePodSandboxError', error);
    }
  }

  #names(pod: NodePod, { clusterDomain }: NodeFacts): { hostname: string; clusterDomain: string } {
    return { hostname: computeHostname(pod, clusterDomain), clusterDomain };
  }

  #tellOfDns(pod: NodePod): void {
    const { name, namespace, uid } = pod.metadata;
    const message = `pod: "${name}_${namespace}(${uid})". podloop has no address of a cluster's DNS and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`;
    this.#options.events.record(pod.metadata, { type: 'Warning', reason: 'MissingClusterDNS', message });
  }
}

function failureOf(
  action: SyncFailure['action'],
  { metadata }: NodePod,
  reason: string,
  error: unknown,
): SyncFailure {
  const subject = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  const what = action === 'CreatePodSandbox' ? 'create sandbox for pod' : 'set up sandbox of pod';
  const message = `Failed to ${what} "${subject}": ${quoteRuntimeError(error)}`;
  return { action, subject, reason, message, cause: error };
}
