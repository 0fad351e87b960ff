/**
 * Reads the configuration of credential provider plugins: CredentialProviderConfig, as a kubelet has it.
 *
 * @see https://kubernetes.io/docs/tasks/administer-cluster/kubelet-credential-provider/
 * @module
 */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PodloopError } from '#base/errors/errors.js';
import { parseYamlDocuments, type TextPlace } from '#base/text/yaml/yaml-document.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { decodeObject } from '#kube/fields/decode-object.js';
import { type FieldTable, supported } from '#kube/fields/field-facts.js';
import { type FieldPath, formatFieldPath, toPlainPath } from '#kube/fields/field-path.js';
import { duplicate, invalid } from '#kube/fields/field-problem.js';
import { checkQualifiedName } from '#kube/validation/name-rules.js';
import { ProblemList } from '#kube/validation/problem-list.js';
import { readOptionFile } from '#base/fs/read-option-file.js';

/** What the plugin gets a token for. */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** Whether what it answers holds for all pods of a service account, or for one token. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  /** Whether it is asked only for pods with a service account. */
  readonly requireServiceAccount: boolean;
  /** Annotations of the service account that the plugin gets: it is not asked where one of these is missing. */
  readonly requiredServiceAccountAnnotationKeys?: readonly string[];
  /** The same, where the account has them. */
  readonly optionalServiceAccountAnnotationKeys?: readonly string[];
}

/** A credential provider plugin. */
export interface CredentialProvider {
  readonly name: string;
  /** Its program. */
  readonly file: string;
  /** Of its requests and answers. */
  readonly apiVersion: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly tokenAttributes: TokenAttributes | undefined;
}

const CONFIG_FLAG = '--image-credential-provider-config';
const FOLDER_FLAG = '--image-credential-provider-bin-dir';
const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`);
const V1 = 'credentialprovider.kubelet.k8s.io/v1';
const PLUGIN_VERSIONS = [V1, `${V1}beta1`, `${V1}alpha1`];
const CACHE_TYPES = ['ServiceAccount', 'Token'];

const TABLES = {
  CredentialProviderConfig: {
    apiVersion: oneOf(CONFIG_VERSIONS),
    kind: oneOf(['CredentialProviderConfig']),
    providers: supported('[]CredentialProvider', { required: true }),
  },
  CredentialProvider: {
    name: supported('string', { required: true }),
    matchImages: supported('[]string', { required: true }),
    defaultCacheDuration: supported('string', { required: true }),
    apiVersion: oneOf(PLUGIN_VERSIONS),
    args: supported('[]string'),
    env: supported('[]ExecEnvVar'),
    tokenAttributes: supported('ServiceAccountTokenAttributes'),
  },
  ExecEnvVar: {
    name: supported('string', { required: true }),
    value: supported('string', { isSecret: true }),
  },
  ServiceAccountTokenAttributes: {
    serviceAccountTokenAudience: supported('string', { required: true }),
    cacheType: oneOf(CACHE_TYPES),
    requireServiceAccount: supported('boolean', { required: true }),
    requiredServiceAccountAnnotationKeys: supported('[]string'),
    optionalServiceAccountAnnotationKeys: supported('[]string'),
  },
} satisfies Readonly<Record<string, FieldTable>>;

function oneOf(words: readonly string[]): ReturnType<typeof supported> {
  return supported('string', { required: true, only: words, otherwise: `use ${words.join(' or ')}` });
}

interface WrittenProvider {
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration: string;
  readonly apiVersion: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly tokenAttributes?: TokenAttributes;
}

/** Where {@link readProviderConfig} finds what. */
export interface ProviderPlaces {
  /** A file, or a folder whose `*.json`, `*.yaml` and `*.yml` are read in the order of their names; empty: none. */
  readonly config: string;
  /** The folder of the programs. */
  readonly binDir: string;
  /** Whether there are service accounts to ask tokens for. */
  readonly isInCluster: boolean;
}

/** What {@link readProviderConfig} has read. */
export interface ProviderConfig {
  readonly providers: readonly CredentialProvider[];
  /** Of the files, as a kubelet computes it: `sha256:…`; undefined without any. */
  readonly hash: string | undefined;
}

/**
 * The providers of a configuration; none where none is named. Rejects with OPTION_INVALID for files that cannot be used,
 * and with CONFIG_INVALID for what is wrong in one: file, line, column and field.
 */
export async function readProviderConfig(places: ProviderPlaces): Promise<ProviderConfig> {
  const { config, binDir } = places;
  if (config === '' && binDir === '') return { providers: [], hash: undefined };
  if (config === '' || binDir === '') {
    const [named, missing] = config === '' ? [FOLDER_FLAG, CONFIG_FLAG] : [CONFIG_FLAG, FOLDER_FLAG];
    throw new PodloopError('OPTION_INVALID', `${named} has no effect without ${missing}: name both`);
  }
  const providers: CredentialProvider[] = [];
  const hash = createHash('sha256');
  const files = await listFiles(config);
  for (const file of files) {
    const text = await readOptionFile(CONFIG_FLAG, file);
    addToHash(hash, Buffer.from(text));
    for (const provider of parseProviderConfig(text, file, places)) {
      if (providers.some(({ name }) => name === provider.name))
        throw new PodloopError(
          'CONFIG_INVALID',
          `${file}: the provider "${provider.name}" is in another file, too`,
        );
      await checkProgram(provider.file);
      providers.push(provider);
    }
  }
  return { providers, hash: `sha256:${hash.digest('hex')}` };
}

/** Each file has its length before it, in eight bytes: two files are never those that say the same in other pieces. */
function addToHash(hash: Hash, content: Buffer): void {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(content.length));
  hash.update(length).update(content);
}

async function listFiles(config: string): Promise<readonly string[]> {
  const facts = await stat(config).catch(() => undefined);
  // What is wrong with a file is said where it is read.
  if (facts?.isDirectory() !== true) return [config];
  const entries = await readdir(config, { withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.isDirectory() && /\.(json|ya?ml)$/.test(entry.name))
    .map(({ name }) => name)
    .sort();
  if (names.length === 0)
    throw new PodloopError('OPTION_INVALID', `${CONFIG_FLAG}: ${config} has no *.json, *.yaml or *.yml`);
  return names.map((name) => join(config, name));
}

async function checkProgram(file: string): Promise<void> {
  const facts = await stat(file).catch(() => undefined);
  const isProgram =
    facts?.isFile() === true &&
    (await access(file, constants.X_OK).then(
      () => true,
      () => false,
    ));
  if (isProgram) return;
  const why = facts === undefined ? 'is not there' : 'is no program that may be run';
  throw new PodloopError(
    'OPTION_INVALID',
    `${FOLDER_FLAG}: ${file} ${why}; a provider has the name of its program`,
  );
}

/** Exported for tests. Throws CONFIG_INVALID. */
export function parseProviderConfig(
  text: string,
  file: string,
  { binDir, isInCluster }: Omit<ProviderPlaces, 'config'>,
): readonly CredentialProvider[] {
  const documents = parseYamlDocuments(text);
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const why = document === undefined ? 'there is nothing in it' : 'there is more than one document in it';
    throw new PodloopError('CONFIG_INVALID', `${file}: ${why}; write one CredentialProviderConfig`);
  }
  const at = ({ line, column }: TextPlace, path: FieldPath, message: string): string =>
    `${file}:${line}:${column}: ${path.length === 0 ? '' : `${formatFieldPath(path)}: `}${message}`;
  if (document.problems.length > 0)
    throw refusal(document.problems.map(({ path, place, message }) => at(place, path, message)));
  const decoded = decodeObject(document.value, 'CredentialProviderConfig', TABLES, () => true);
  const list = new ProblemList();
  list.add(...decoded.problems);
  const { providers = [] } = (decoded.value ?? {}) as { readonly providers?: readonly WrittenProvider[] };
  if (list.problems.length === 0) checkProviders(providers, isInCluster, list);
  if (list.problems.length > 0)
    throw refusal(
      list.problems.map(({ kind, path, message }) => {
        const place = document.placeOf(toPlainPath(path), kind === 'unknown' ? 'key' : 'value');
        return at(place, path, message);
      }),
    );
  return providers.map(({ name, defaultCacheDuration, args = [], env = [], ...rest }) => ({
    ...{ name, file: join(binDir, name), args, apiVersion: rest.apiVersion, matchImages: rest.matchImages },
    defaultCacheMs: parseGoDuration(defaultCacheDuration, 'duration'),
    env: env.map((each) => ({ name: each.name, value: each.value ?? '' })),
    tokenAttributes: rest.tokenAttributes,
  }));
}

function checkProviders(
  providers: readonly WrittenProvider[],
  isInCluster: boolean,
  list: ProblemList,
): void {
  const names = new Set<string>();
  for (const [at, { name, matchImages, tokenAttributes, apiVersion, ...rest }] of providers.entries()) {
    const path = ['providers', at] as const;
    list.check([...path, 'name'], name, (text) =>
      /^[^/\s]+$/.test(text) && !['.', '..'].includes(text)
        ? undefined
        : 'must be the name of a file, without / and spaces',
    );
    if (names.has(name)) list.add(duplicate([...path, 'name'], name));
    names.add(name);
    list.check([...path, 'defaultCacheDuration'], rest.defaultCacheDuration, findDurationProblem);
    for (const [index, pattern] of matchImages.entries())
      list.check([...path, 'matchImages', index], pattern, findPatternProblem);
    if (tokenAttributes === undefined) continue;
    const place = [...path, 'tokenAttributes'];
    if (!isInCluster)
      list.add(
        invalid(place, '', 'there are no tokens of service accounts without a cluster (--kubeconfig)'),
      );
    if (apiVersion !== V1) list.add(invalid(place, '', `needs apiVersion ${V1}`));
    checkAnnotationKeys(tokenAttributes, place, list);
  }
}

function checkAnnotationKeys(attributes: TokenAttributes, place: FieldPath, list: ProblemList): void {
  const { requiredServiceAccountAnnotationKeys: needed = [], requireServiceAccount } = attributes;
  const { optionalServiceAccountAnnotationKeys: more = [] } = attributes;
  const path = [...place, 'requiredServiceAccountAnnotationKeys'];
  if (!requireServiceAccount && needed.length > 0)
    list.add(invalid(path, needed.join(), 'needs requireServiceAccount: true'));
  const seen = new Set<string>();
  for (const [name, keys] of [
    ['required', needed],
    ['optional', more],
  ] as const) {
    for (const [at, key] of keys.entries()) {
      const keyPath = [...place, `${name}ServiceAccountAnnotationKeys`, at];
      // Annotations may have capitals in their domain.
      list.check(keyPath, key, (text) => checkQualifiedName(text.toLowerCase()));
      if (seen.has(key)) list.add(duplicate(keyPath, key));
      seen.add(key);
    }
  }
}

function findDurationProblem(text: string): string | undefined {
  try {
    return parseGoDuration(text, 'duration') >= 0 ? undefined : 'must not be negative';
  } catch {
    return 'must be a duration such as 500ms, 20s or 12h0m0s';
  }
}

/** A host, in which each part may have `*`, with a port and the beginning of a path behind it, if need be. */
function findPatternProblem(pattern: string): string | undefined {
  if (pattern.includes('://')) return 'must have no scheme; write registry.example.com';
  if (/^[^/]*[[\]]/.test(pattern))
    return 'must have no brackets in its host; use * and ?, or several patterns';
  return /^[\w*?.-]+(:\d+)?(\/[^\s?#]*)?$/.test(pattern)
    ? undefined
    : 'must be a registry such as *.example.com:5000/team';
}

function refusal(problems: readonly string[]): PodloopError {
  return new PodloopError('CONFIG_INVALID', problems.join('; '));
}
