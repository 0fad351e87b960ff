/** As much of a v1 Service as its variables need; read leniently. */
export interface KubeService {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: {
    readonly type?: unknown;
    readonly clusterIP?: unknown;
    readonly ports?: unknown;
  };
}

/** A service that has an address. */
export interface AddressedService {
  readonly name: string;
  readonly clusterIp: string;
  /** Never empty. */
  readonly ports: readonly ServicePort[];
}

interface ServicePort {
  /** Empty where it has none. */
  readonly name: string;
  readonly port: number;
  /** `TCP`, `UDP`, `SCTP`. */
  readonly protocol: string;
}

/** What pods can know of a service; undefined for one without an address of its own. Pure. */
export function toAddressedService({ metadata, spec }: KubeService): AddressedService | undefined {
  const { clusterIP: clusterIp } = spec ?? {};
  const name = metadata?.name;
  if (typeof clusterIp !== 'string' || clusterIp === '' || clusterIp === 'None' || name === undefined) {
    return undefined;
  }
  const ports = (Array.isArray(spec?.ports) ? (spec.ports as unknown[]) : []).flatMap(toPort);
  return ports.length === 0 ? undefined : { name, clusterIp, ports };
}

function toPort(value: unknown): ServicePort[] {
  const { name, port, protocol } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof port !== 'number') return [];
  const text = (field: unknown, otherwise: string): string =>
    typeof field === 'string' && field !== '' ? field : otherwise;
  return [{ name: text(name, ''), port, protocol: text(protocol, 'TCP') }];
}

/**
 * The variables with which containers find a service, those of Docker's links included. Pure.
 *
 * @see https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
 */
export function serviceVariables({ name, clusterIp, ports }: AddressedService): [string, string][] {
  const prefix = toVariableName(name);
  const host = clusterIp.includes(':') ? `[${clusterIp}]` : clusterIp;
  const first = ports[0]!;
  const urlOf = ({ protocol, port }: ServicePort): string => `${protocol.toLowerCase()}://${host}:${port}`;
  return [
    [`${prefix}_SERVICE_HOST`, clusterIp],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap((port): [string, string][] =>
      port.name === '' ? [] : [[`${prefix}_SERVICE_PORT_${toVariableName(port.name)}`, String(port.port)]],
    ),
    [`${prefix}_PORT`, urlOf(first)],
    ...ports.flatMap((port): [string, string][] => {
      const link = `${prefix}_PORT_${port.port}_${port.protocol.toUpperCase()}`;
      return [
        [link, urlOf(port)],
        [`${link}_PROTO`, port.protocol.toLowerCase()],
        [`${link}_PORT`, String(port.port)],
        [`${link}_ADDR`, clusterIp],
      ];
    }),
  ];
}

function toVariableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}
