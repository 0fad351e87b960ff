import { isRecord } from '#base/text/is-record.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { toWrittenObject } from './written-object.js';

/**
 * A pod as somebody wrote it, and the fields that were left out because a cluster or an agent had added them.
 */
export interface WrittenPod {
  readonly value: unknown;
  readonly leftOut: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const TOKEN_VOLUME = /^kube-api-access-[a-z0-9]+$/;
/** Token volumes that webhooks of clouds add to pods of an account; nobody here would take such a token. */
const CLOUD_TOKEN_VOLUMES = ['aws-iam-token', 'eks-pod-identity-token', 'azure-identity-token'];
/**
 * The end of the name of a token volume of clusters before 1.24, from a Secret of that name; the account stands
 * in front.
 */
const OLD_TOKEN_VOLUME = /^-token-[a-z0-9]{5}$/;
/** The path of the token in each container. */
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const CONTAINERS = ['initContainers', 'containers', 'ephemeralContainers'];
/** What an API server and controllers write, such as the finalizer of a Job's pod. */
const WRITTEN_BY_SERVERS = [
  ...['generateName', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'finalizers'],
];
/**
 * What an API server, its webhooks and controllers write, or have done already: `overhead` is a RuntimeClass's,
 * readiness gates are load balancers', and the token of the account is mounted.
 */
const WRITTEN_INTO_SPEC = ['overhead', 'readinessGates', 'automountServiceAccountToken'];
/** Fields that only a pod from an API server or an agent has. */
const SERVED = ['resourceVersion', 'creationTimestamp', 'managedFields', 'ownerReferences'];

/**
 * Restores the requested pod from the output of `kubectl get pod -o yaml` or `podloop get pod -o yaml`. Pure.
 *
 * A cluster adds a volume with the token of the pod's account; its controllers name pods by generateName, and
 * webhooks add readiness gates and tokens for a cloud. These mean nothing on a node without an API server.
 * Ephemeral containers joined the running pod, and are not allowed in a new one. The name of the account stays,
 * and so does any other use of a token, which is refused as such.
 */
export function toWrittenPod(value: unknown, onNode?: string): WrittenPod {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) {
    return { value, leftOut: [] };
  }
  const own = asOwn(value, onNode);
  if (own !== undefined) return { value: own, leftOut: ['what the agent had added'] };
  const leftOut: string[] = [];
  let metadata: Fields = value['metadata'];
  const isServed = SERVED.some((name) => metadata[name] !== undefined && metadata[name] !== null);
  if (isServed && typeof metadata['name'] === 'string') {
    for (const name of WRITTEN_BY_SERVERS) {
      if (metadata[name] === undefined) continue;
      metadata = without(metadata, name);
      leftOut.push(`metadata.${name}`);
    }
  }
  let spec = withoutToken(value['spec'], { isServed, leftOut });
  for (const name of isServed ? WRITTEN_INTO_SPEC : []) {
    if (spec[name] === undefined || spec[name] === null || spec[name] === false) continue;
    spec = without(spec, name);
    leftOut.push(`spec.${name}`);
  }
  const { ephemeralContainers: joined } = spec;
  if (isServed && Array.isArray(joined) && joined.length > 0) {
    spec = without(spec, 'ephemeralContainers');
    leftOut.push('spec.ephemeralContainers');
  }
  return leftOut.length === 0 ? { value, leftOut } : { value: { ...value, metadata, spec }, leftOut };
}

/** A pod that an agent shows, under the name in its manifest; undefined for any other. */
function asOwn(value: Fields, onNode: string | undefined): Fields | undefined {
  const { annotations } = value['metadata'] as Fields;
  const { nodeName } = value['spec'] as Fields;
  if (!isRecord(annotations) || typeof nodeName !== 'string') return undefined;
  // A pod from another node becomes a pod of its own here.
  if (onNode !== undefined && onNode !== nodeName) return undefined;
  if (!Object.hasOwn(annotations, STATIC_POD_ANNOTATIONS.manifestHash)) return undefined;
  const written = toWrittenObject(value, nodeName);
  const name = (written['metadata'] as Fields)['name'];
  return name === (value['metadata'] as Fields)['name'] ? undefined : written;
}

function withoutToken(
  spec: Fields,
  { isServed, leftOut }: { readonly isServed: boolean; readonly leftOut: string[] },
): Fields {
  const isToken = (volume: unknown): volume is { readonly name: string } =>
    isTokenVolume(volume, isServed) || (isServed && isOldTokenVolume(volume, spec));
  const { volumes } = spec;
  const tokens = Array.isArray(volumes) ? volumes.filter(isToken).map(({ name }) => name) : [];
  if (tokens.length === 0) return spec;
  const cleared: Record<string, unknown> = { ...spec };
  cleared['volumes'] = (volumes as unknown[]).filter((volume) => !isToken(volume));
  leftOut.push(...tokens.map((name) => `the volume ${name} and its mounts`));
  for (const field of CONTAINERS) {
    const containers = cleared[field];
    if (!Array.isArray(containers)) continue;
    cleared[field] = containers.map((container: unknown) => {
      if (!isRecord(container) || !Array.isArray(container['volumeMounts'])) return container;
      const mounts = container['volumeMounts'] as unknown[];
      const kept = mounts.filter((mount) => !isRecord(mount) || !tokens.includes(mount['name'] as string));
      return { ...container, volumeMounts: kept };
    });
  }
  return cleared;
}

function without(fields: Fields, name: string): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
}

/**
 * The volume that an API server adds, with the account's token, the cluster's certificate and namespace, or
 * the one that a cloud's webhook adds.
 */
function isTokenVolume(volume: unknown, isServed: boolean): volume is { readonly name: string } {
  if (!isRecord(volume) || typeof volume['name'] !== 'string') return false;
  const { name, projected } = volume;
  if (!TOKEN_VOLUME.test(name) && !(isServed && CLOUD_TOKEN_VOLUMES.includes(name))) return false;
  if (!isRecord(projected) || !Array.isArray(projected['sources'])) return false;
  return projected['sources'].some((source) => isRecord(source) && isRecord(source['serviceAccountToken']));
}

function isOldTokenVolume(volume: unknown, spec: Fields): boolean {
  if (!isRecord(volume) || typeof volume['name'] !== 'string' || !isRecord(volume['secret'])) return false;
  const { name, secret } = volume as { readonly name: string; readonly secret: Fields };
  const { serviceAccountName, serviceAccount } = spec;
  const account = serviceAccountName || serviceAccount || 'default';
  if (typeof account !== 'string' || !name.startsWith(account)) return false;
  if (!OLD_TOKEN_VOLUME.test(name.slice(account.length)) || secret['secretName'] !== name) return false;
  const mounts = CONTAINERS.flatMap((field) => listIn(spec, field)).flatMap((each) =>
    isRecord(each) ? listIn(each, 'volumeMounts') : [],
  );
  const own = mounts.filter((mount) => isRecord(mount) && mount['name'] === name) as Fields[];
  return own.every((mount) => mount['mountPath'] === ACCOUNT_FOLDER);
}

function listIn(fields: Fields, name: string): readonly unknown[] {
  const list = fields[name];
  return Array.isArray(list) ? list : [];
}
