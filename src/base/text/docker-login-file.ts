/**
 * Reads the file in which Docker has logins of registries: `config.json`, or the older `.dockercfg`.
 *
 * In: its text, from a Secret or a disk. Out: entries by place, and the helpers that it names. No error repeats what is in it.
 *
 * @module
 */
import { isRecord } from './is-record.js';

/** The name and the password of a login. */
export interface NameAndPassword {
  readonly username: string;
  readonly password: string;
}

/** What an entry says; empty texts for what it does not. */
export interface DockerLogin extends NameAndPassword {
  /** To be exchanged for tokens. */
  readonly identityToken: string;
  /** A token itself. */
  readonly registryToken: string;
}

/** The file, whose entries {@link readDockerLogin} reads one by one. */
export interface DockerLoginFile {
  /** By the place that they are for, as written: `registry.example:5000/team`, `https://index.docker.io/v1/`. */
  readonly entries: ReadonlyMap<string, unknown>;
  /** Names of credential helpers, by place. */
  readonly helpers: ReadonlyMap<string, string>;
  /** The helper for all other places. */
  readonly store: string | undefined;
}

/** Which file it is: in `.dockercfg` the entries are the file. */
export type DockerFileForm = 'config.json' | '.dockercfg';

/** Reads the file. Throws for what is none. */
export function parseDockerLogins(text: string, form: DockerFileForm): DockerLoginFile {
  const file = parseSecretObject(text);
  if (form === '.dockercfg')
    return { entries: new Map(Object.entries(file)), helpers: new Map(), store: undefined };
  const { auths, credHelpers, credsStore } = file;
  if (auths !== undefined && auths !== null && !isRecord(auths)) throw new Error('its auths are no object');
  const helpers = Object.entries(isRecord(credHelpers) ? credHelpers : {});
  return {
    entries: new Map(Object.entries(auths ?? {})),
    helpers: new Map(helpers.filter((each): each is [string, string] => typeof each[1] === 'string')),
    store: typeof credsStore === 'string' ? credsStore : undefined,
  };
}

/** Reads an entry, in which `auth` wins over `username` and `password`. Throws for what is none. */
export function readDockerLogin(entry: unknown): DockerLogin {
  if (!isRecord(entry)) throw new Error('a login is no object');
  const { identitytoken, registrytoken } = entry;
  // As in Go, null is what is not there.
  const [auth, username, password] = ['auth', 'username', 'password'].map((name) => entry[name] ?? '');
  for (const [name, value] of Object.entries({ auth, username, password }))
    if (typeof value !== 'string') throw new Error(`the field "${name}" is no text`);
  const tokens = {
    identityToken: typeof identitytoken === 'string' ? identitytoken : '',
    registryToken: typeof registrytoken === 'string' ? registrytoken : '',
  };
  const written = { username, password } as NameAndPassword;
  return { ...(auth === '' ? written : decodeDockerAuth(auth as string)), ...tokens };
}

/** `name:password` in base64, with which some tools end in zeros. Throws for anything else. */
export function decodeDockerAuth(auth: string): NameAndPassword {
  const text = Buffer.from(auth, 'base64').toString('utf8').replace(/\0+$/, '');
  const colon = text.indexOf(':');
  if (colon < 0) throw new Error('the field "auth" is not a name and a password in base64');
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Reads an object in JSON as programs in Go do, for which null has no fields. No error repeats what is in it. */
export function parseSecretObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw new Error('it is not JSON');
  }
  if (value !== null && !isRecord(value)) throw new Error('it is no object');
  return value ?? {};
}
