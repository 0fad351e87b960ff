import { type Secret } from '#kube/objects/config-object.js';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';

/** Credentials for a registry. The password is in no message, log or event. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

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

const FILES: Readonly<Record<string, string>> = {
  'kubernetes.io/dockerconfigjson': '.dockerconfigjson',
  'kubernetes.io/dockercfg': '.dockercfg',
};

/**
 * Reads the logins of a Secret of one of Kubernetes' two types for them. Pure, never throws.
 *
 * `auth` (base64 of `name:password`) wins over `username` and `password`. Like a kubelet, it ignores tokens
 * of helpers.
 */
export function readDockerConfig({ type, data }: Secret): DockerConfig {
  const logins = new Map<string, RegistryLogin>();
  const bytes = Object.hasOwn(FILES, type) ? data.get(FILES[type]!) : undefined;
  const file = bytes === undefined ? undefined : parseJsonObject(Buffer.from(bytes).toString('utf8'));
  const places = type === 'kubernetes.io/dockercfg' ? file : recordOf(file?.['auths'] ?? {});
  if (file === undefined || places === undefined) return { logins, isBroken: true };
  let isBroken = false;
  for (const [place, entry] of Object.entries(places)) {
    const login = loginOf(entry);
    if (login === undefined) isBroken = true;
    else logins.set(place, login);
  }
  return { logins, isBroken };
}

function loginOf(entry: unknown): RegistryLogin | undefined {
  const { auth = '', username = '', password = '' } = recordOf(entry) ?? { auth: 0 };
  if (typeof auth !== 'string' || typeof username !== 'string' || typeof password !== 'string') {
    return undefined;
  }
  if (auth === '') return { username, password };
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}
