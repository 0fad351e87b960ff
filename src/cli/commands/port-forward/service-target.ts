import { type KubeObject } from '#kube/columns/kube-object.js';
import { type EndpointsObject, type ServiceObject } from '#kube/columns/service-columns.js';
import { failure } from '../../command-failure.js';

/** A pod behind a Service, and the ports to ask it for. */
export interface ServiceTarget {
  readonly podName: string;
  /** As for the pod: `LOCAL:REMOTE`. */
  readonly ports: readonly string[];
}

interface WithTargets {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly targetRef?: { readonly name?: string } }[];
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  }[];
}

/** The first ready pod of a Service, and the Service's ports as those of the pod. Throws a CommandFailure. */
export function findServiceTarget(
  words: readonly string[],
  service: ServiceObject,
  endpoints: EndpointsObject,
): ServiceTarget {
  const { name = '' } = service.metadata ?? {};
  const subset = (endpoints as KubeObject as WithTargets).subsets?.find(
    ({ addresses = [] }) => addresses.length > 0,
  );
  const podName = subset?.addresses?.[0]?.targetRef?.name;
  if (podName === undefined) throw failure(`no pod of the service ${JSON.stringify(name)} is ready`);
  const ports = words.map((word) => {
    const parts = word.split(':');
    const wanted = parts.at(-1) ?? '';
    const found = (service.spec?.ports ?? []).find((each) => {
      return /^\d+$/.test(wanted) ? each.port === Number(wanted) : each.name === wanted;
    });
    if (found === undefined) throw failure(`Service ${name} does not have a service port ${wanted}`);
    if (found.protocol === 'UDP') throw failure(`UDP protocol is not supported for ${wanted}`);
    const target = (subset?.ports ?? []).find((each) => (each.name ?? '') === (found.name ?? ''))?.port;
    if (target === undefined)
      throw failure(`Pod ${podName} does not have a port for ${wanted} of the service ${name}`);
    const local = parts.length > 1 ? parts[0]! : String(found.port);
    return `${local}:${target}`;
  });
  return { podName, ports };
}
