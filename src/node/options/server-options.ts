import { type OptionsTable } from './options-table.js';

/** What an agent is told of the ports at which it answers. */
export interface ServerOptions {
  readonly enableServer: boolean;
  /** Undefined: 127.0.0.1, and for `port` in a cluster every one of the machine. See {@link portAddressOf}. */
  readonly address: string | undefined;
  /** Undefined: the usual one, if it is free, and on this machine alone. 0 for none. */
  readonly readOnlyPort: number | undefined;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  /** With TLS; 0 for none. */
  readonly port: number;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Empty: in the root folder. */
  readonly certDir: string;
  readonly serverTlsBootstrap: boolean;
  readonly tlsMinVersion: TlsVersion;
  readonly tlsCipherSuites: readonly string[];
  readonly tokenAuthFile: string;
  readonly clientCaFile: string;
  readonly anonymousAuth: boolean;
  readonly authorizationMode: AuthorizationMode;
  /** In a cluster: tokens are looked up. */
  readonly authenticationTokenWebhook: boolean;
  readonly authenticationTokenWebhookCacheTtlMs: number;
  readonly authorizationWebhookCacheAuthorizedTtlMs: number;
  readonly authorizationWebhookCacheUnauthorizedTtlMs: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableSystemLogHandler: boolean;
  readonly nodeLogsDir: string;
}

/** The lowest version of TLS that is spoken, in the kubelet's words. */
const TLS_VERSIONS = ['VersionTLS12', 'VersionTLS13'] as const;
/** One of {@link TLS_VERSIONS}. */
export type TlsVersion = (typeof TLS_VERSIONS)[number];

/** What those may do who show who they are, in the kubelet's words. */
const AUTHORIZATION_MODES = ['AlwaysAllow', 'Webhook'] as const;
/** One of {@link AUTHORIZATION_MODES}. */
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The rows of {@link ServerOptions}. */
export const SERVER_OPTIONS: OptionsTable<ServerOptions> = {
  enableServer: {
    type: 'switch',
    default: true,
    flag: '--enable-server',
    field: 'enableServer',
    fromConfig: (config) => config.enableServer,
    doc: 'Answer at ports; with false only at the socket, and at --healthz-port where there is one',
  },
  address: {
    type: 'text',
    default: undefined,
    flag: '--address',
    field: 'address',
    fromConfig: (config) => config.address,
    doc: 'Address at which the agent answers at ports; 0.0.0.0 or :: for all of the machine’s. Unless told 127.0.0.1, and for --port in a cluster 0.0.0.0',
  },
  readOnlyPort: {
    type: 'port',
    default: undefined,
    flag: '--read-only-port',
    field: 'readOnlyPort',
    fromConfig: (config) => config.readOnlyPort,
    doc: 'Port of health and metrics for anybody, 0 for none; 10255 of 127.0.0.1 unless told, as soon as nobody else has it',
  },
  healthzPort: {
    type: 'port',
    default: 0,
    flag: '--healthz-port',
    field: 'healthzPort',
    fromConfig: (config) => config.healthzPort,
    doc: 'Port of health alone, 0 for none; the kubelet’s is 10248',
  },
  healthzBindAddress: {
    type: 'text',
    default: '127.0.0.1',
    flag: '--healthz-bind-address',
    field: 'healthzBindAddress',
    fromConfig: (config) => config.healthzBindAddress,
    doc: 'Address of --healthz-port',
  },
  port: {
    type: 'port',
    default: 0,
    defaultInCluster: 10_250,
    flag: '--port',
    field: 'port',
    fromConfig: (config) => config.port,
    doc: 'Port with TLS for those who show a token or a certificate, 0 for none',
  },
  tlsCertFile: {
    type: 'text',
    default: '',
    flag: '--tls-cert-file',
    field: 'tlsCertFile',
    fromConfig: (config) => config.tlsCertFile,
    doc: 'Certificate of --port with those that vouch for it, in PEM; a self-signed one unless told',
  },
  tlsPrivateKeyFile: {
    type: 'text',
    default: '',
    flag: '--tls-private-key-file',
    field: 'tlsPrivateKeyFile',
    fromConfig: (config) => config.tlsPrivateKeyFile,
    doc: 'Key of --tls-cert-file, in PEM',
  },
  certDir: {
    type: 'text',
    default: '',
    flag: '--cert-dir',
    doc: 'Folder for certificates that the agent makes or is given by its cluster; pki in --root-dir unless told',
  },
  serverTlsBootstrap: {
    type: 'switch',
    default: false,
    flag: '--rotate-server-certificates',
    field: 'serverTLSBootstrap',
    fromConfig: (config) => config.serverTLSBootstrap,
    doc: 'In a cluster: have the certificate of --port signed by the cluster, and renew it in time and when addresses change',
  },
  tlsMinVersion: {
    type: TLS_VERSIONS,
    default: 'VersionTLS12',
    flag: '--tls-min-version',
    field: 'tlsMinVersion',
    fromConfig: (config) => config.tlsMinVersion,
    doc: 'Lowest version of TLS at --port',
  },
  tlsCipherSuites: {
    type: 'list',
    default: [],
    flag: '--tls-cipher-suites',
    field: 'tlsCipherSuites',
    fromConfig: (config) => config.tlsCipherSuites,
    doc: 'Suites of TLS 1.2 at --port, in the kubelet’s names (default: those without CBC). Those of TLS 1.3 are always on',
  },
  tokenAuthFile: {
    type: 'text',
    default: '',
    flag: '--token-auth-file',
    doc: 'File of tokens whose holders may do everything at --port, a line of token,user,uid for each; others may not read it',
  },
  clientCaFile: {
    type: 'text',
    default: '',
    flag: '--client-ca-file',
    field: 'authentication.x509.clientCAFile',
    fromConfig: (config) => config.clientCAFile,
    doc: 'Authorities that vouch for certificates of clients at --port, in PEM',
  },
  anonymousAuth: {
    type: 'switch',
    default: true,
    defaultInCluster: false,
    flag: '--anonymous-auth',
    field: 'authentication.anonymous.enabled',
    fromConfig: (config) => config.anonymousAuth,
    doc: 'Let those who show nothing see health at --port; in a cluster also metrics and statistics as far as its rules let them; nothing else',
  },
  authenticationTokenWebhook: {
    type: 'switch',
    default: true,
    flag: '--authentication-token-webhook',
    field: 'authentication.webhook.enabled',
    fromConfig: (config) => config.authenticationTokenWebhook,
    doc: 'In a cluster: ask the API server whose a token is that somebody shows at --port',
  },
  authenticationTokenWebhookCacheTtlMs: {
    type: 'duration',
    default: 2 * MINUTE,
    flag: '--authentication-token-webhook-cache-ttl',
    field: 'authentication.webhook.cacheTTL',
    fromConfig: (config) => config.authenticationTokenWebhookCacheTtlMs,
    doc: 'In a cluster: how long its answer is kept',
  },
  authorizationMode: {
    type: AUTHORIZATION_MODES,
    default: 'AlwaysAllow',
    defaultInCluster: 'Webhook',
    flag: '--authorization-mode',
    field: 'authorization.mode',
    fromConfig: (config) => config.authorizationMode,
    doc: 'What those may do at --port who show who they are: everything (AlwaysAllow), or what the API server says (Webhook; also what a file with a clientCAFile means unless it says more). Without a cluster Webhook lets in those alone whose certificate is of the group system:masters',
  },
  authorizationWebhookCacheAuthorizedTtlMs: {
    type: 'duration',
    default: 5 * MINUTE,
    flag: '--authorization-webhook-cache-authorized-ttl',
    field: 'authorization.webhook.cacheAuthorizedTTL',
    fromConfig: (config) => config.authorizationWebhookCacheAuthorizedTtlMs,
    doc: 'In a cluster: how long it is kept that somebody may do something',
  },
  authorizationWebhookCacheUnauthorizedTtlMs: {
    type: 'duration',
    default: 30 * SECOND,
    flag: '--authorization-webhook-cache-unauthorized-ttl',
    field: 'authorization.webhook.cacheUnauthorizedTTL',
    fromConfig: (config) => config.authorizationWebhookCacheUnauthorizedTtlMs,
    doc: 'In a cluster: how long it is kept that he may not',
  },
  enableDebuggingHandlers: {
    type: 'switch',
    default: true,
    flag: '--enable-debugging-handlers',
    field: 'enableDebuggingHandlers',
    fromConfig: (config) => config.enableDebuggingHandlers,
    doc: 'Answer at --port for logs of containers and of the node, commands in containers, and connections to them',
  },
  enableSystemLogHandler: {
    type: 'switch',
    default: true,
    flag: '--enable-system-log-handler',
    field: 'enableSystemLogHandler',
    fromConfig: (config) => config.enableSystemLogHandler,
    doc: 'Answer at --port for the node’s log folder',
  },
  nodeLogsDir: {
    type: 'path',
    default: '/var/log',
    flag: '--node-logs-dir',
    doc: 'The node’s log folder, which is shown at /logs/ to those who may see everything',
  },
};
