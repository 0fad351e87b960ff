import { cri } from '../cri/index.js';
import { type NodePod } from '../model/node-pod.js';

import { computePodResources } from './container-resources.js';
import { LABELS } from './labels.js';
import { type NodeFacts } from './node-facts.js';
import { type PodPaths } from './pod-paths.js';
import { computeResolverConfig } from './resolver-config.js';
import { type SandboxConfig } from './runtime-changes.js';
import { computeSandboxSecurity } from './security-context.js';

/** What a sandbox's configuration follows from beside the pod. */
export interface SandboxFacts {
  readonly node: NodeFacts;
  readonly paths: PodPaths;
  /** How many sandboxes of the pod came before. */
  readonly attempt: number;
  /** Where its cgroups go; empty for the runtime's own choice. */
  readonly cgroupParent: string;
  /** Ours, written beside those of the pod. */
  readonly annotations: Readonly<Record<string, string>>;
}

const LONGEST_HOSTNAME = 63;

/** The sandbox of a pod, as CRI takes it: with the kubelet's labels and our mark. Pure. */
export function buildSandboxConfig(pod: NodePod, facts: SandboxFacts): SandboxConfig {
  const { metadata, spec } = pod;
  const { name, namespace, uid } = metadata;
  const { node, paths, attempt } = facts;
  return cri.PodSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    // On the node's network the name is the node's, too.
    hostname: spec.hostNetwork === true ? '' : computeHostname(pod, node.clusterDomain),
    logDirectory: paths.logDir(metadata),
    dnsConfig: toDnsConfig(pod, node),
    portMappings: spec.hostNetwork === true ? [] : toPortMappings(pod),
    labels: { ...metadata.labels, ...podLabels(pod, node.nodeInstance) },
    annotations: { ...metadata.annotations, ...facts.annotations },
    linux: {
      cgroupParent: facts.cgroupParent,
      securityContext: computeSandboxSecurity(pod, node.seccompDir),
      sysctls: Object.fromEntries(
        (spec.securityContext?.sysctls ?? []).map((each) => [each.name, each.value]),
      ),
      resources: computePodResources(pod, node),
    },
  });
}

/** The labels by which everything of a pod is found, and our mark. */
export function podLabels(pod: NodePod, nodeInstance: string): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return {
    [LABELS.podName]: name,
    [LABELS.podNamespace]: namespace,
    [LABELS.podUid]: uid,
    [LABELS.nodeInstance]: nodeInstance,
  };
}

/**
 * The host name in a pod: what it says, else its name, as short as Linux wants it; with the domain of its subdomain
 * where it asks for that. Pure.
 */
export function computeHostname({ metadata, spec }: NodePod, clusterDomain: string): string {
  const { hostname = metadata.name, subdomain = '' } = spec;
  const short = hostname.slice(0, LONGEST_HOSTNAME).replace(/[-.]+$/, '');
  if (spec.setHostnameAsFQDN !== true || subdomain === '' || clusterDomain === '') return short;
  return `${short}.${subdomain}.${metadata.namespace}.svc.${clusterDomain}`;
}

function toDnsConfig({ metadata, spec }: NodePod, node: NodeFacts): cri.DeepPartial<cri.DNSConfig> {
  const { resolver, clusterDns, clusterDomain } = node;
  const facts = { node: resolver, clusterDns, clusterDomain };
  const { servers, searches, options } = computeResolverConfig(spec, metadata.namespace, facts);
  return { servers: [...servers], searches: [...searches], options: [...options] };
}

function toPortMappings({ spec }: NodePod): cri.DeepPartial<cri.PortMapping>[] {
  // Sidecars live as long as the pod, other init containers do not.
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const ports = [...spec.containers, ...sidecars].flatMap((container) => container.ports ?? []);
  return ports
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ containerPort, hostPort = 0, hostIP = '', protocol = 'TCP' }) => ({
      containerPort,
      hostPort,
      hostIp: hostIP,
      protocol: cri.Protocol[protocol],
    }));
}
