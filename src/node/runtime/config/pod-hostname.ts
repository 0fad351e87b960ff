import { type NodePod } from '#kube/pod/node-pod.js';

/** The names of a pod on the network. */
export interface PodHostNames {
  /** A name that Linux accepts: at most 63 characters, without `-` or `.` at its end. */
  readonly short: string;
  /** `<subdomain>.<namespace>.svc` and the cluster's domain, if there is one; empty without a subdomain. */
  readonly domain: string;
}

const MAX_SHORT_LENGTH = 63;
/** The kernel's limit. */
const MAX_FULL_LENGTH = 64;

/** The names of a pod: those in its spec, otherwise its own name. Pure. */
export function computeHostNames({ metadata, spec }: NodePod, clusterDomain: string): PodHostNames {
  const { hostnameOverride, hostname = metadata.name } = spec;
  const short = (hostnameOverride ?? hostname).slice(0, MAX_SHORT_LENGTH).replace(/[-.]+$/, '');
  const subdomain = hostnameOverride === undefined ? (spec.subdomain ?? '') : '';
  const domain = [subdomain, metadata.namespace, 'svc', clusterDomain]
    .filter((part) => part !== '')
    .join('.');
  return { short, domain: subdomain === '' ? '' : domain };
}

/**
 * The host name inside a pod: the short one, or the full one if the pod asks for that. Pure.
 *
 * Throws in the kubelet's words when the full one is longer than the kernel allows.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-hostname/
 */
export function computeHostname(pod: NodePod, clusterDomain: string): string {
  const { short, domain } = computeHostNames(pod, clusterDomain);
  if (domain === '' || pod.spec.setHostnameAsFQDN !== true) return short;
  const full = `${short}.${domain}`;
  if (full.length <= MAX_FULL_LENGTH) return full;
  throw new Error(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${MAX_FULL_LENGTH} characters is the max, ${full.length} characters requested)`,
  );
}
