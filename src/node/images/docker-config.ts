import { DOCKER_SECRET_KEYS, type Secret } from '#kube/objects/config-object.js';
import {
  type DockerFileForm,
  type NameAndPassword,
  parseDockerLogins,
  readDockerLogin,
} from '#base/text/docker-login-file.js';

/** Credentials for a registry. The password is in no message, log or event. */
export type RegistryLogin = NameAndPassword;

/** The registry credentials in a Secret. */
export interface DockerConfig {
  /**
   * By the place that they are for, as written: `registry.example:5000/team`, `https://index.docker.io/v1/`,
   * `*.example.org`.
   */
  readonly logins: ReadonlyMap<string, RegistryLogin>;
  /** It has another type, or some of it cannot be parsed. */
  readonly isBroken: boolean;
}

/**
 * Reads the logins of a Secret of one of Kubernetes' two types for them. Pure, never throws.
 *
 * Like a kubelet, it ignores tokens and helpers.
 */
export function readDockerConfig({ type, data }: Secret): DockerConfig {
  const logins = new Map<string, RegistryLogin>();
  const key = DOCKER_SECRET_KEYS.get(type);
  const bytes = key === undefined ? undefined : data.get(key);
  if (bytes === undefined) return { logins, isBroken: true };
  const form: DockerFileForm = key === '.dockercfg' ? key : 'config.json';
  let isBroken = false;
  try {
    for (const [place, entry] of parseDockerLogins(Buffer.from(bytes).toString('utf8'), form).entries) {
      try {
        const { username, password } = readDockerLogin(entry);
        logins.set(place, { username, password });
      } catch {
        isBroken = true;
      }
    }
  } catch {
    isBroken = true;
  }
  return { logins, isBroken };
}
