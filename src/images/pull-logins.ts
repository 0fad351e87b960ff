import { type PodObjects, type Secret } from '../model/config-object.js';
import { type NodePod } from '../model/node-pod.js';
import { readDockerConfig, type RegistryLogin } from './docker-config.js';
import { findLogins, type PlacedLogin } from './find-logins.js';

/** What a pod has to fetch an image with. */
export interface PullLogins {
  /** To be tried one after the other; empty: without any. */
  readonly logins: readonly RegistryLogin[];
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
  const all: PlacedLogin[] = [];
  for (const { name } of pod.spec.imagePullSecrets ?? []) {
    const secret = find(pod, name, objects);
    const config = secret === undefined ? undefined : readDockerConfig(secret);
    if (config?.isBroken !== false) unusable.push(name);
    all.push(...(config?.logins ?? []));
  }
  return { logins: findLogins(image, all), unusable };
}

/** What cannot be known now is no reason not to try. */
function find(pod: NodePod, name: string, objects: Pick<PodObjects, 'findSecret'>): Secret | undefined {
  try {
    return objects.findSecret(pod, name);
  } catch {
    return undefined;
  }
}
