import { parseDockerLogins } from '#base/text/docker-login-file.js';
import { type FieldPath } from '../fields/field-path.js';
import { invalid, required } from '../fields/field-problem.js';
import { DOCKER_SECRET_KEYS } from '../objects/config-object.js';
import { checkConfigKey } from './name-rules.js';
import { type ProblemList } from './problem-list.js';

/** Kubernetes' limit for all values of one ConfigMap or Secret together, in bytes. */
const LARGEST_CONFIG_OBJECT_BYTES = 1024 * 1024;

/** Validates keys. */
export function checkKeys(keys: Iterable<string>, path: FieldPath, list: ProblemList): void {
  for (const key of keys) {
    const broken = checkConfigKey(key);
    if (broken !== undefined) list.add(invalid([...path, { key }], key, broken));
  }
}

/** Validates the total size of all values. */
export function checkSize(
  values: readonly (string | Uint8Array)[],
  path: FieldPath,
  list: ProblemList,
): void {
  let bytes = 0;
  for (const value of values) bytes += Buffer.byteLength(value);
  if (bytes <= LARGEST_CONFIG_OBJECT_BYTES) return;
  list.add(invalid(path, `${bytes} bytes`, `must have at most ${LARGEST_CONFIG_OBJECT_BYTES} bytes`));
}

/** A rule for the entries of Secrets of one type. */
type TypeRule = (entries: SecretEntries, list: ProblemList) => void;

/** The entries of a Secret. */
export interface SecretEntries {
  readonly data: ReadonlyMap<string, Uint8Array>;
  /** Names of those in `stringData`. */
  readonly written: ReadonlySet<string>;
  readonly annotations: Readonly<Record<string, string | undefined>>;
}

const ACCOUNT_NAME = 'kubernetes.io/service-account.name';

const RULES: Readonly<Record<string, TypeRule>> = {
  'kubernetes.io/service-account-token': ({ annotations }, list) => {
    if ((annotations[ACCOUNT_NAME] ?? '') !== '') return;
    list.add(required(['metadata', 'annotations', { key: ACCOUNT_NAME }]));
  },
  'kubernetes.io/basic-auth': ({ data }, list) => {
    if (data.has('username') || data.has('password')) return;
    for (const key of ['username', 'password']) list.add(required(['data', { key }], 'one of the two'));
  },
  'kubernetes.io/ssh-auth': ({ data }, list) => {
    const key = 'ssh-privatekey';
    if ((data.get(key)?.byteLength ?? 0) === 0) list.add(required(['data', { key }]));
  },
  'kubernetes.io/tls': ({ data }, list) => {
    for (const key of ['tls.crt', 'tls.key']) if (!data.has(key)) list.add(required(['data', { key }]));
  },
};

/** Validates a Secret by Kubernetes' rules for its type. Custom types have no rules. */
export function checkSecretType(type: string, entries: SecretEntries, list: ProblemList): void {
  const key = DOCKER_SECRET_KEYS.get(type);
  if (key !== undefined) needsDockerLogins(key, entries, list);
  else if (Object.hasOwn(RULES, type)) RULES[type]!(entries, list);
}

/** As an API server: any object will do, as what is in it counts only for a pull. */
function needsDockerLogins(key: string, { data, written }: SecretEntries, list: ProblemList): void {
  const path = [written.has(key) ? 'stringData' : 'data', { key }];
  const value = data.get(key);
  if (value === undefined || value.byteLength === 0) {
    list.add(required(path));
    return;
  }
  try {
    parseDockerLogins(Buffer.from(value).toString('utf8'), '.dockercfg');
  } catch {
    const rule = 'must be a JSON object, as docker writes into its config.json';
    list.add({ kind: 'invalid', path, message: `Invalid value: ${rule}` });
  }
}
