import { type PodSandboxConfig } from '#watch/messages';
import { type HostPort } from '../links/attachment-record.js';

/** The CNI_ARGS by which plugins learn which pod it is; the names are those that every runtime uses. */
export function toCniArgs(sandboxId: string, { metadata }: PodSandboxConfig): string {
  const pairs = {
    IgnoreUnknown: '1',
    K8S_POD_NAMESPACE: metadata?.namespace ?? '',
    K8S_POD_NAME: metadata?.name ?? '',
    K8S_POD_INFRA_CONTAINER_ID: sandboxId,
    K8S_POD_UID: metadata?.uid ?? '',
  };
  return (
    Object.entries(pairs)
      // There is no way to write such a value down.
      .filter(([, value]) => !/[;=\0]/.test(value))
      .map(([name, value]) => `${name}=${value}`)
      .join(';')
  );
}

/**
 * What plugins are told that declare the capability: `portMappings`, `dns` and `bandwidth`, each only if the pod asks
 * for it. See "Well-known Capabilities" in the conventions of CNI.
 */
export function toCniCapabilities(
  { dnsConfig, annotations }: PodSandboxConfig,
  hostPorts: readonly HostPort[],
): Readonly<Record<string, unknown>> {
  const bandwidth = toBandwidth(annotations);
  return {
    ...(hostPorts.length === 0 ? {} : { portMappings: hostPorts.map(toPortMapping) }),
    ...(dnsConfig === undefined ? {} : { dns: dnsConfig }),
    ...(bandwidth === undefined ? {} : { bandwidth }),
  };
}

function toPortMapping({ protocol, hostIp, hostPort, containerPort }: HostPort): object {
  return { hostPort, containerPort, protocol, ...(hostIp === '' ? {} : { hostIP: hostIp }) };
}

/** Some plugins insist on a burst; this is the largest that all of them can hold. */
const BURST_BITS = 2 ** 31 - 1;

function toBandwidth(annotations: Readonly<Record<string, string>>): object | undefined {
  const ingressRate = toBitsPerSecond(annotations['kubernetes.io/ingress-bandwidth']);
  const egressRate = toBitsPerSecond(annotations['kubernetes.io/egress-bandwidth']);
  if (ingressRate === undefined && egressRate === undefined) return undefined;
  return {
    ...(ingressRate === undefined ? {} : { ingressRate, ingressBurst: BURST_BITS }),
    ...(egressRate === undefined ? {} : { egressRate, egressBurst: BURST_BITS }),
  };
}

const UNITS: Readonly<Record<string, number>> = {
  ...{ '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 },
};

/** Reads a quantity of Kubernetes as far as a bandwidth can be one; undefined when it is none. */
function toBitsPerSecond(text: string | undefined): number | undefined {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)(|k|M|G|T|Ki|Mi|Gi|Ti)$/.exec(text ?? '') ?? [];
  const bits = Math.round(Number(digits) * (UNITS[unit] ?? 1));
  return digits === '' || bits < 1 ? undefined : bits;
}
