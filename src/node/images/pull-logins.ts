import { type PodObjects, type Secret } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { readDockerConfig, type RegistryLogin } from './docker-config.js';
import { findLogins, type PlacedLogin } from './find-logins.js';

/** Which Secret of an API server: another one of the same name has another uid. */
export interface SecretId {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A login of a pod and where the pod has it from. */
export interface PullCredential {
  readonly login: RegistryLogin;
  /** Undefined for one of a manifest: those have no uid. */
  readonly secret: SecretId | undefined;
}

/** What a pod has to fetch an image with. */
export interface PullLogins {
  /** To be tried one after the other; empty: without any. */
  readonly credentials: readonly PullCredential[];
  /** Names of imagePullSecrets that are not there, of which nobody knows, or that are no logins. */
  readonly unusable: readonly string[];
}

/** Finds what the imagePullSecrets of a pod have for the registry of an image. */
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

function idOf({ metadata: { uid, namespace, name } }: Secret): SecretId | undefined {
  return uid === undefined ? undefined : { uid, namespace, name };
}

/** What cannot be known now is no reason not to try. */
function find(pod: NodePod, name: string, objects: Pick<PodObjects, 'findSecret'>): Secret | undefined {
  try {
    return objects.findSecret(pod, name);
  } catch {
    return undefined;
  }
}
