/** An object as {@link InMemoryApi} keeps it: its metadata is complete, the rest is whatever was sent. */
export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: StoredMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** What the API server fills in, and what it was given. */
export interface StoredMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[];
}

/** What a path of the API names. */
export interface ApiPath {
  /** `/api/v1/pods`, without the namespace: one collection for all of a kind. */
  readonly collection: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Takes `/api/v1/namespaces/NS/pods/NAME/status` apart. Throws on what is no path of objects. */
export function parseApiPath(path: string): ApiPath {
  const words = path.split('/').slice(1).map(decodeURIComponent);
  const depth = words[0] === 'api' ? 2 : 3;
  const prefix = words.slice(0, depth).join('/');
  const rest = words.slice(depth);
  const isInNamespace = rest[0] === 'namespaces' && rest.length > 2;
  const [resource, name, subresource] = isInNamespace ? rest.slice(2) : rest;
  if (resource === undefined || !/^apis?\//.test(prefix)) throw new Error(`no path of objects: ${path}`);
  const namespace = isInNamespace ? rest[1] : undefined;
  return { collection: `/${prefix}/${resource}`, resource, namespace, name, subresource };
}
