import { type NodeAddress } from '../node/node-object.js';

/** Whom a certificate is about. */
export interface CertificateSubject {
  readonly commonName: string;
  readonly organization: string;
  /** Of a server; sorted, like {@link ips}, so that the same ones are the same request. */
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
}

/** How a node is called by the API server: https://kubernetes.io/docs/reference/access-authn-authz/node/ */
export function nodeSubject(nodeName: string): CertificateSubject {
  return {
    ...{ commonName: `system:node:${nodeName}`, organization: 'system:nodes' },
    ...{ dnsNames: [], ips: [] },
  };
}

/** A node as a server: under all of its addresses. Undefined while it has none, for nobody could look for it. */
export function servingSubject(
  nodeName: string,
  addresses: readonly NodeAddress[],
): CertificateSubject | undefined {
  const of = (...types: readonly string[]): string[] => {
    const found = addresses.filter(({ type }) => types.includes(type)).map(({ address }) => address);
    return [...new Set(found)].sort();
  };
  const ips = of('InternalIP', 'ExternalIP');
  const dnsNames = of('Hostname', 'InternalDNS', 'ExternalDNS');
  // As a kubelet, that waits for an address: a name alone is often known earlier, and then another request would follow.
  return ips.length === 0 ? undefined : { ...nodeSubject(nodeName), dnsNames, ips };
}

/** For people, and to compare by. */
export function formatName({
  organization,
  commonName,
}: {
  readonly organization: string | readonly string[];
  readonly commonName: string | readonly string[];
}): string {
  return `O=${[organization].flat().join('+')}, CN=${[commonName].flat().join('+')}`;
}

/** Whether two ask for the same. */
export function isSameSubject(one: CertificateSubject, other: CertificateSubject): boolean {
  return JSON.stringify(toFields(one)) === JSON.stringify(toFields(other));
}

function toFields({ commonName, organization, dnsNames, ips }: CertificateSubject): unknown {
  return [commonName, organization, dnsNames, ips];
}
