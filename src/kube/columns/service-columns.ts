import { formatPodSelector } from '../workloads/pod-selector.js';
import { formatAge } from './human-age.js';
import { type KubeObject } from './kube-object.js';

/** A Service, its Endpoints or an EndpointSlice, as far as columns need it. */
export interface ServiceObject extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly sessionAffinity?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePortObject[];
  };
}

/** One port of a Service. */
export interface ServicePortObject {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

/** Endpoints as an API server shows them. */
export interface EndpointsObject extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip?: string }[];
    readonly ports?: readonly { readonly name?: string; readonly port?: number }[];
  }[];
}

interface SliceObject extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly { readonly port?: number }[];
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[];
}

interface Columns {
  readonly names: readonly string[];
  readonly wide: readonly string[];
  readonly row: (object: KubeObject, nowMs: number) => readonly string[];
}

/** kubectl shows so many and counts the rest. */
const MAX_SHOWN = 3;
const NONE = '<none>';

/** The columns of Services and of what follows from them, by their plural names, as in kubectl. */
export const SERVICE_COLUMNS: ReadonlyMap<string, Columns> = new Map([
  [
    'services',
    {
      names: ['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age'],
      wide: ['Selector'],
      row: (object, nowMs) => {
        const { spec = {} } = object as ServiceObject;
        const { type = 'ClusterIP', clusterIP = NONE, ports = [], selector } = spec;
        const ofPorts = ports.map(({ port, nodePort, protocol = 'TCP' }) => {
          return `${port}${nodePort === undefined ? '' : `:${nodePort}`}/${protocol}`;
        });
        return [
          ...[nameOf(object), type, clusterIP, externalOf(spec), ofPorts.join(',') || NONE],
          ...[ageOf(object, nowMs), formatPodSelector({ matchLabels: selector ?? {} })],
        ];
      },
    },
  ],
  [
    'endpoints',
    {
      names: ['Name', 'Endpoints', 'Age'],
      wide: [],
      row: (object, nowMs) => {
        const addresses = listEndpoints(object);
        return [nameOf(object), shorten(addresses, (count) => ` + ${count} more...`), ageOf(object, nowMs)];
      },
    },
  ],
  [
    'endpointslices',
    {
      names: ['Name', 'AddressType', 'Ports', 'Endpoints', 'Age'],
      wide: [],
      row: (object, nowMs) => {
        const { addressType = '', ports = [], endpoints = [] } = object as SliceObject;
        const more = (count: number): string => ` + ${count} more...`;
        const numbers = ports.map(({ port = 0 }) => String(port));
        const addresses = endpoints.flatMap((each) => each.addresses ?? []);
        const unset = (list: readonly string[]): string =>
          list.length === 0 ? '<unset>' : shorten(list, more);
        return [nameOf(object), addressType, unset(numbers), unset(addresses), ageOf(object, nowMs)];
      },
    },
  ],
] satisfies [string, Columns][]);

/** Each ready address with each port, `10.88.0.2:80`; `port`: those of one port by its name alone. */
export function listEndpoints({ subsets = [] }: EndpointsObject, port?: string): string[] {
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    const own = port === undefined ? ports : ports.filter(({ name = '' }) => name === port);
    if (ports.length === 0 && port === undefined) return addresses.map(({ ip = '' }) => ip);
    return own.flatMap((each) => addresses.map(({ ip = '' }) => `${ip}:${each.port}`));
  });
}

function shorten(list: readonly string[], more: (count: number) => string): string {
  if (list.length === 0) return NONE;
  const rest = list.length - MAX_SHOWN;
  return `${list.slice(0, MAX_SHOWN).join(',')}${rest > 0 ? more(rest) : ''}`;
}

function externalOf({ type, externalName }: NonNullable<ServiceObject['spec']>): string {
  if (type === 'ExternalName') return externalName ?? NONE;
  return type === 'LoadBalancer' ? '<pending>' : NONE;
}

function nameOf({ metadata = {} }: KubeObject): string {
  return metadata.name ?? '';
}

function ageOf({ metadata = {} }: KubeObject, nowMs: number): string {
  return formatAge(metadata.creationTimestamp, nowMs);
}
