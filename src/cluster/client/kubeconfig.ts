/**
 * A kubeconfig file: which API server, how it is known, and who asks.
 *
 * In: the text of a file as kubectl, kubeadm and cloud tools write it. Out: what its current context names, paths made
 * absolute. Read strictly: a mistyped `certifcate-authority` would otherwise be a server that nobody verifies.
 *
 * Source: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 *
 * @module
 */
import { dirname, resolve } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type YamlFile, YamlValue } from '#base/text/yaml/yaml-value.js';
import { readProxyUrl } from '#base/wire/find-proxy.js';

/** PEM that stands in the kubeconfig itself, or in a file that may be replaced at any time. */
export type PemSource = { readonly text: string } | { readonly file: string };

/** A program that hands out credentials: `exec` of a user. */
export interface ExecCommand {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  /** Absolute when it was written with a slash: relative to the folder of the kubeconfig. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of the agent. */
  readonly env: Readonly<Record<string, string>>;
  /** How to install the program, for the error when it is not there. */
  readonly installHint: string;
  readonly provideClusterInfo: boolean;
}

/** Who asks. The first of `exec`, `tokenFile` and `token` counts, and certificates besides, as in client-go. */
export interface KubeconfigUser {
  readonly certificate?: PemSource;
  readonly key?: PemSource;
  readonly token?: string;
  /** Read again as it changes. */
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly exec?: ExecCommand;
  /** Headers that ask to be treated as somebody else. */
  readonly impersonation: Readonly<Record<string, string | readonly string[]>>;
}

/** See the module. */
export interface Kubeconfig {
  /** The file, for messages. */
  readonly file: string;
  /** `https://host:port`, perhaps with a path; without a slash at its end. */
  readonly server: string;
  /** Who vouches for the server; Node's own authorities when absent. */
  readonly authority?: PemSource;
  /** The name in the server's certificate, when it is not the host of `server`. */
  readonly serverName?: string;
  /** The proxy on the way to the server, perhaps with a password. What the environment says holds when absent. */
  readonly proxyUrl?: string;
  /** Anybody may pass for the server. */
  readonly insecure: boolean;
  readonly user: KubeconfigUser;
}

const CLUSTER_FIELDS = [
  ...(['server', 'tls-server-name', 'insecure-skip-tls-verify', 'certificate-authority'] as const),
  ...(['certificate-authority-data', 'proxy-url', 'disable-compression', 'extensions'] as const),
] as const;
const USER_FIELDS = [
  ...(['client-certificate', 'client-certificate-data', 'client-key', 'client-key-data'] as const),
  ...(['token', 'tokenFile', 'username', 'password', 'exec', 'auth-provider', 'extensions'] as const),
  ...(['as', 'as-uid', 'as-groups', 'as-user-extra'] as const),
] as const;
const EXEC_FIELDS = [
  ...(['apiVersion', 'command', 'args', 'env', 'installHint', 'provideClusterInfo'] as const),
  'interactiveMode',
] as const;

/**
 * Reads the text of `file`. Throws KUBECONFIG_INVALID with file, line and path of what is wrong; never repeats what a
 * secret field says.
 */
export function readKubeconfig(text: string, file: string): Kubeconfig {
  const about: YamlFile = {
    ...{ name: file, code: 'KUBECONFIG_INVALID' },
    insteadOfSecond: 'a kubeconfig has one document with lists of clusters, users and contexts',
    nullIsAbsent: true,
  };
  const root = YamlValue.parse(text, about).fields(
    ...(['apiVersion', 'kind', 'preferences', 'clusters', 'users', 'contexts'] as const),
    ...(['current-context', 'extensions'] as const),
  );
  root.apiVersion.oneOf(['v1'], 'v1');
  root.kind.oneOf(['Config'], 'Config');
  const current = root['current-context'];
  const name = current.string('');
  if (name === '') throw current.invalid('is missing: name the context to use');
  const named = findNamed(root.contexts, 'context', name, current);
  const context = named.fields('cluster', 'user', 'namespace', 'extensions');
  const inFolder = (path: string): string => resolve(dirname(file), path);
  const clusterName = context.cluster.string();
  const cluster = findNamed(root.clusters, 'cluster', clusterName, context.cluster).fields(...CLUSTER_FIELDS);
  const userName = context.user.string('');
  const user = userName === '' ? undefined : findNamed(root.users, 'user', userName, context.user);
  return {
    file,
    ...readCluster(cluster, inFolder),
    user: user === undefined ? { impersonation: {} } : readUser(user.fields(...USER_FIELDS), inFolder),
  };
}

type Fields<Names extends readonly string[]> = Record<Names[number], YamlValue>;
type InFolder = (path: string) => string;

/** The entry `name` of a list such as `clusters: [{name, cluster: …}]`; `from` is what refers to it. */
function findNamed(list: YamlValue, kind: string, name: string, from: YamlValue): YamlValue {
  const found = list.items().find((item) => item.find('name').string('') === name);
  if (found === undefined) throw from.invalid(`there is no ${kind} ${JSON.stringify(name)} in ${kind}s`);
  return found.fields('name', kind)[kind]!;
}

function readCluster(
  fields: Fields<typeof CLUSTER_FIELDS>,
  inFolder: InFolder,
): Omit<Kubeconfig, 'file' | 'user'> {
  const server = fields.server.string();
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !['https:', 'http:'].includes(url.protocol) || url.search + url.hash !== '') {
    throw fields.server.invalid('must be a URL such as https://10.0.0.1:6443');
  }
  if (url.username + url.password !== '') {
    throw fields.server.invalid('must not hold a name or password; write them into the user');
  }
  const proxyUrl = readProxy(fields['proxy-url']);
  readBoolean(fields['disable-compression']);
  const insecure = readBoolean(fields['insecure-skip-tls-verify']);
  const authority = readPem(fields['certificate-authority-data'], fields['certificate-authority'], inFolder);
  if (insecure && authority !== undefined) {
    const why =
      'must not be true beside a certificate authority: one says to verify the server, the other not to';
    throw fields['insecure-skip-tls-verify'].invalid(why);
  }
  const serverName = fields['tls-server-name'].string('');
  return {
    server: url.href.replace(/\/+$/, ''),
    insecure,
    ...(authority && { authority }),
    ...(serverName !== '' && { serverName }),
    ...(proxyUrl !== '' && { proxyUrl }),
  };
}

function readProxy(value: YamlValue): string {
  const url = readSecret(value);
  try {
    if (url !== '') readProxyUrl(url);
  } catch (error) {
    throw value.invalid(messageOf(error));
  }
  return url;
}

function readUser(fields: Fields<typeof USER_FIELDS>, inFolder: InFolder): KubeconfigUser {
  if (!fields['auth-provider'].isAbsent) {
    throw fields['auth-provider'].invalid('was removed from Kubernetes; use exec');
  }
  const certificate = readPem(fields['client-certificate-data'], fields['client-certificate'], inFolder);
  const key = readPem(fields['client-key-data'], fields['client-key'], inFolder);
  if ((certificate === undefined) !== (key === undefined)) {
    const [there, missing] = certificate
      ? (['certificate', 'key'] as const)
      : (['key', 'certificate'] as const);
    const field = fields[`client-${missing}`];
    throw field.invalid(`is missing, and client-${there} alone is of no use`);
  }
  const token = readSecret(fields.token);
  const tokenFile = fields.tokenFile.string('');
  const username = fields.username.string('');
  const basic = { username, password: readSecret(fields.password) };
  return {
    ...(certificate && { certificate }),
    ...(key && { key }),
    ...(token !== '' && { token }),
    ...(tokenFile !== '' && { tokenFile: inFolder(tokenFile) }),
    ...(username !== '' && { basic }),
    ...(!fields.exec.isAbsent && { exec: readExec(fields.exec, inFolder) }),
    impersonation: readImpersonation(fields),
  };
}

function readExec(value: YamlValue, inFolder: InFolder): ExecCommand {
  const fields = value.fields(...EXEC_FIELDS);
  const command = fields.command.string();
  if (command === '') throw fields.command.invalid('must name a program');
  if (fields.interactiveMode.oneOf(['Never', 'IfAvailable', 'Always'], 'IfAvailable') === 'Always') {
    throw fields.interactiveMode.invalid('must be Never or IfAvailable: an agent has no terminal to ask at');
  }
  const env = fields.env.items().map((item) => item.fields('name', 'value'));
  return {
    apiVersion: fields.apiVersion.oneOf([
      'client.authentication.k8s.io/v1',
      'client.authentication.k8s.io/v1beta1',
    ]),
    command: command.includes('/') ? inFolder(command) : command,
    args: fields.args.items().map((item) => item.string()),
    env: Object.fromEntries(env.map(({ name, value: text }) => [name.string(), readSecret(text)])),
    installHint: fields.installHint.string(''),
    provideClusterInfo: readBoolean(fields.provideClusterInfo),
  };
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation */
function readImpersonation(fields: Fields<typeof USER_FIELDS>): KubeconfigUser['impersonation'] {
  const [user, uid] = [fields.as.string(''), fields['as-uid'].string('')];
  const groups = fields['as-groups'].items().map((item) => item.string());
  const extra = fields['as-user-extra'];
  if (user === '' && (uid !== '' || groups.length > 0 || !extra.isAbsent)) {
    throw fields.as.invalid('is missing, and as-uid, as-groups and as-user-extra alone say nothing');
  }
  const headers: Record<string, string | readonly string[]> = {};
  if (user !== '') headers['impersonate-user'] = user;
  if (uid !== '') headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = groups;
  for (const [name, values] of extra.entries()) {
    headers[`impersonate-extra-${encodeURIComponent(name)}`] = values.items().map((item) => item.string());
  }
  return headers;
}

/** What stands in the file comes before what it refers to, as in client-go. */
function readPem(data: YamlValue, file: YamlValue, inFolder: InFolder): PemSource | undefined {
  const encoded = readSecret(data);
  if (encoded !== '') {
    const text = Buffer.from(encoded, 'base64').toString('latin1');
    if (!text.includes('-----BEGIN ')) throw data.invalid('must be PEM in base64');
    return { text };
  }
  const path = file.string('');
  return path === '' ? undefined : { file: inFolder(path) };
}

/** Says what is wrong without what is written. */
function readSecret(value: YamlValue): string {
  if (value.isAbsent) return '';
  const given = value.scalar();
  if (typeof given !== 'string') throw value.invalid('must be a string; put it in quotes');
  return given;
}

function readBoolean(value: YamlValue): boolean {
  if (value.isAbsent) return false;
  const given = value.scalar();
  if (typeof given !== 'boolean') throw value.invalid('must be true or false');
  return given;
}
