import { type PodObjects, type Secret } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readDockerConfig, type RegistryLogin } from './docker-config.js';
import { findLogins, type PlacedLogin } from './find-logins.js';

/** Identifies a Secret or a service account of an API server: another one of the same name has another uid. */
export interface ObjectId {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A pod's login and its origin. */
export interface PullCredential {
  readonly login: RegistryLogin;
  /** Undefined for a Secret of a manifest: those have no uid. */
  readonly secret: ObjectId | undefined;
  /** The service account with whose token a plugin was asked for the login. */
  readonly account?: ObjectId | undefined;
  /** The node's own, and no pod's: what it pulls is for every pod, as with a kubelet. */
  readonly isForAnyone?: boolean;
}

/** A pod's credentials for a pull. */
export interface PullLogins {
  /** To be tried one after the other; empty: none. */
  readonly credentials: readonly PullCredential[];
  /** Names of imagePullSecrets that are missing, unknown, or contain no logins. */
  readonly unusable: readonly string[];
}

/** Finds the logins for an image's registry in a pod's imagePullSecrets. */
export function pullLoginsOf(
  pod: NodePod,
  image: string,
  objects: Pick<PodObjects, 'findSecret'>,
): PullLogins {
  const unusable: string[] = [];
  const all: PlacedLogin<PullCredential>[] = [];
  for (const { name } of pod.spec.imagePullSecrets ?? []) {
    const secret = find(pod, name, objects);
    const config = secret === undefined ? undefined : readDockerConfig(secret);
    if (config?.isBroken !== false) unusable.push(name);
    const id = secret === undefined ? undefined : idOf(secret);
    for (const [place, login] of config?.logins ?? []) all.push([place, { login, secret: id }]);
  }
  return { credentials: findLogins(image, all), unusable };
}

function idOf({ metadata: { uid, namespace, name } }: Secret): ObjectId | undefined {
  return uid === undefined ? undefined : { uid, namespace, name };
}

/** A Secret that is unknown now is no reason not to try. */
function find(pod: NodePod, name: string, objects: Pick<PodObjects, 'findSecret'>): Secret | undefined {
  try {
    return objects.findSecret(pod, name);
  } catch {
    return undefined;
  }
}
