import { cri, type IdRange, LABELS, type PodPaths } from '#watch';
import { type NodePod } from '#kube/pod/node-pod.js';
import { sidecarsOf } from '#kube/container/restart-rule.js';

import { computePodOverhead, computePodResources } from './container-resources.js';
import { type NodeFacts } from './node-facts.js';
import { computeHostname } from './pod-hostname.js';
import { computeResolverConfig, type ResolverFacts } from './resolver-config.js';
import { type SandboxConfig } from '../runtime-changes.js';
import { computeSandboxSecurity } from './security-context.js';

/** The inputs of a sandbox's configuration beside the pod. */
export interface SandboxFacts {
  readonly node: NodeFacts;
  readonly paths: PodPaths;
  /** How many sandboxes of the pod came before. */
  readonly attempt: number;
  /** The parent of its cgroups; empty for the runtime's own choice. */
  readonly cgroupParent: string;
  /** podloop's annotations, in addition to those of the pod. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The ids that the pod's users have on the node (default: they are the node's own). */
  readonly idRange?: IdRange | undefined;
}

/**
 * The configuration of a pod's sandbox for CRI, with the kubelet's labels and podloop's mark. Pure.
 *
 * Throws as {@link computeHostname} does.
 */
export function buildSandboxConfig(pod: NodePod, facts: SandboxFacts): SandboxConfig {
  const { metadata, spec } = pod;
  const { name, namespace, uid } = metadata;
  const { node, paths, attempt } = facts;
  const overhead = computePodOverhead(pod, node);
  return cri.PodSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    // On the node's network the pod has the node's name.
    hostname: spec.hostNetwork === true ? '' : computeHostname(pod, node.clusterDomain),
    logDirectory: paths.logDir(metadata),
    dnsConfig: toDnsConfig(pod, node),
    portMappings: spec.hostNetwork === true ? [] : toPortMappings(pod),
    labels: { ...metadata.labels, ...podLabels(pod, node.nodeInstance) },
    annotations: { ...metadata.annotations, ...facts.annotations },
    linux: {
      cgroupParent: facts.cgroupParent,
      securityContext: computeSandboxSecurity(pod, facts.idRange),
      sysctls: Object.fromEntries(
        (spec.securityContext?.sysctls ?? []).map((each) => [each.name, each.value]),
      ),
      resources: computePodResources(pod, node),
      ...(overhead === undefined ? {} : { overhead }),
    },
  });
}

/** The name resolution of a node. Pure. */
export function toResolverFacts({ resolver, clusterDns, clusterDomain }: NodeFacts): ResolverFacts {
  return { node: resolver, clusterDns, clusterDomain };
}

/** The labels by which everything of a pod is found, and podloop's mark. */
export function podLabels(pod: NodePod, nodeInstance: string): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return {
    [LABELS.podName]: name,
    [LABELS.podNamespace]: namespace,
    [LABELS.podUid]: uid,
    [LABELS.nodeInstance]: nodeInstance,
  };
}

function toDnsConfig({ metadata, spec }: NodePod, node: NodeFacts): cri.DeepPartial<cri.DNSConfig> {
  const { servers, searches, options } = computeResolverConfig(
    spec,
    metadata.namespace,
    toResolverFacts(node),
  );
  return { servers: [...servers], searches: [...searches], options: [...options] };
}

function toPortMappings({ spec }: NodePod): cri.DeepPartial<cri.PortMapping>[] {
  // Sidecars live as long as the pod; other init containers do not.
  const ports = [...spec.containers, ...sidecarsOf(spec)].flatMap((container) => container.ports ?? []);
  return ports
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ containerPort, hostPort = 0, hostIP = '', protocol = 'TCP' }) => ({
      containerPort,
      hostPort,
      hostIp: hostIP,
      protocol: cri.Protocol[protocol],
    }));
}
