/** Where something listens that speaks HTTP. */
export interface HttpEndpoint {
  readonly protocol: 'https:' | 'http:';
  /** An IPv6 address is without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Of a URL of `https` or `http`. */
export function toHttpEndpoint({ protocol, hostname, port }: URL): HttpEndpoint {
  const isPlain = protocol === 'http:';
  return {
    protocol: isPlain ? 'http:' : 'https:',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isPlain ? 80 : 443) : Number(port),
  };
}
