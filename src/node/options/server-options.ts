import { type OptionsTable } from './options-table.js';

/** The options for the ports that the agent serves. */
export interface ServerOptions {
  readonly enableServer: boolean;
  /** Undefined: 127.0.0.1, and for `port` in a cluster every one of the machine. See {@link portAddressOf}. */
  readonly address: string | undefined;
  /** Undefined: the kubelet's port on the loopback address, if it is free. 0 for none. */
  readonly readOnlyPort: number | undefined;
  readonly healthzPort: number;
  readonly healthzBindAddress: string;
  /** The TLS port; 0 for none. */
  readonly port: number;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Empty: a folder in the root folder. */
  readonly certDir: string;
  readonly serverTlsBootstrap: boolean;
  readonly tlsMinVersion: TlsVersion;
  readonly tlsCipherSuites: readonly string[];
  readonly tokenAuthFile: string;
  readonly clientCaFile: string;
  readonly anonymousAuth: boolean;
  readonly authorizationMode: AuthorizationMode;
  /** In a cluster: the API server verifies tokens. */
  readonly authenticationTokenWebhook: boolean;
  readonly authenticationTokenWebhookCacheTtlMs: number;
  readonly authorizationWebhookCacheAuthorizedTtlMs: number;
  readonly authorizationWebhookCacheUnauthorizedTtlMs: number;
  readonly enableDebuggingHandlers: boolean;
  readonly enableSystemLogHandler: boolean;
  readonly nodeLogsDir: string;
}

/** The possible minimum versions of TLS, by the kubelet's names. */
const TLS_VERSIONS = ['VersionTLS12', 'VersionTLS13'] as const;
/** One of {@link TLS_VERSIONS}. */
export type TlsVersion = (typeof TLS_VERSIONS)[number];

/** How authenticated clients are authorized, by the kubelet's names. */
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
    group: 'Server and security',
    field: 'enableServer',
    fromConfig: (config) => config.enableServer,
    doc: 'Listen on ports; with false the agent serves only its socket and --healthz-port',
  },
  address: {
    type: 'text',
    default: undefined,
    defaultText: '127.0.0.1; in a cluster 0.0.0.0 for --port',
    flag: '--address',
    group: 'Server and security',
    field: 'address',
    fromConfig: (config) => config.address,
    doc: 'IP address on which the agent listens; 0.0.0.0 or :: for all addresses',
  },
  readOnlyPort: {
    type: 'port',
    default: undefined,
    defaultText: '10255 on 127.0.0.1, once it is free',
    flag: '--read-only-port',
    group: 'Server and security',
    field: 'readOnlyPort',
    fromConfig: (config) => config.readOnlyPort,
    doc: 'Port for health and metrics without authentication, 0 for none',
  },
  healthzPort: {
    type: 'port',
    default: 0,
    flag: '--healthz-port',
    group: 'Server and security',
    field: 'healthzPort',
    fromConfig: (config) => config.healthzPort,
    doc: 'Port for health checks alone, 0 for none; the kubelet uses 10248',
  },
  healthzBindAddress: {
    type: 'text',
    default: '127.0.0.1',
    flag: '--healthz-bind-address',
    group: 'Server and security',
    field: 'healthzBindAddress',
    fromConfig: (config) => config.healthzBindAddress,
    doc: 'IP address for --healthz-port',
  },
  port: {
    type: 'port',
    default: 0,
    defaultInCluster: 10_250,
    flag: '--port',
    group: 'Server and security',
    field: 'port',
    fromConfig: (config) => config.port,
    doc: 'TLS port for clients with a token or certificate, 0 for none',
  },
  tlsCertFile: {
    type: 'text',
    default: '',
    defaultText: 'a self-signed certificate',
    flag: '--tls-cert-file',
    group: 'Server and security',
    field: 'tlsCertFile',
    fromConfig: (config) => config.tlsCertFile,
    doc: 'PEM file with the certificate of --port, followed by its intermediate certificates',
  },
  tlsPrivateKeyFile: {
    type: 'text',
    default: '',
    flag: '--tls-private-key-file',
    group: 'Server and security',
    field: 'tlsPrivateKeyFile',
    fromConfig: (config) => config.tlsPrivateKeyFile,
    doc: 'PEM file with the private key of --tls-cert-file',
  },
  certDir: {
    type: 'text',
    default: '',
    defaultText: 'pki in --root-dir',
    flag: '--cert-dir',
    group: 'Server and security',
    doc: 'Folder for certificates that the agent creates or receives from the cluster',
  },
  serverTlsBootstrap: {
    type: 'switch',
    default: false,
    flag: '--rotate-server-certificates',
    group: 'Server and security',
    field: 'serverTLSBootstrap',
    fromConfig: (config) => config.serverTLSBootstrap,
    doc: 'In a cluster: let the cluster sign the certificate of --port, and renew it before it expires and when addresses change',
  },
  tlsMinVersion: {
    type: TLS_VERSIONS,
    default: 'VersionTLS12',
    flag: '--tls-min-version',
    group: 'Server and security',
    field: 'tlsMinVersion',
    fromConfig: (config) => config.tlsMinVersion,
    doc: 'Lowest TLS version for --port',
  },
  tlsCipherSuites: {
    type: 'list',
    default: [],
    defaultText: 'those without CBC',
    flag: '--tls-cipher-suites',
    group: 'Server and security',
    field: 'tlsCipherSuites',
    fromConfig: (config) => config.tlsCipherSuites,
    doc: 'TLS 1.2 cipher suites for --port, by the kubelet’s names; those of TLS 1.3 are always on',
  },
  tokenAuthFile: {
    type: 'text',
    default: '',
    flag: '--token-auth-file',
    group: 'Server and security',
    doc: 'File of tokens that allow everything on --port, with one token,user,uid per line; other users must not be able to read it',
  },
  clientCaFile: {
    type: 'text',
    default: '',
    flag: '--client-ca-file',
    group: 'Server and security',
    field: 'authentication.x509.clientCAFile',
    fromConfig: (config) => config.clientCAFile,
    doc: 'PEM file with the certificate authorities for client certificates on --port',
  },
  anonymousAuth: {
    type: 'switch',
    default: true,
    defaultInCluster: false,
    flag: '--anonymous-auth',
    group: 'Server and security',
    field: 'authentication.anonymous.enabled',
    fromConfig: (config) => config.anonymousAuth,
    doc: 'Let clients without credentials read health on --port; in a cluster also the metrics and statistics that its rules allow',
  },
  authenticationTokenWebhook: {
    type: 'switch',
    default: true,
    flag: '--authentication-token-webhook',
    group: 'Server and security',
    field: 'authentication.webhook.enabled',
    fromConfig: (config) => config.authenticationTokenWebhook,
    doc: 'In a cluster: ask the API server who owns a token that a client of --port presents',
  },
  authenticationTokenWebhookCacheTtlMs: {
    type: 'duration',
    default: 2 * MINUTE,
    flag: '--authentication-token-webhook-cache-ttl',
    group: 'Server and security',
    field: 'authentication.webhook.cacheTTL',
    fromConfig: (config) => config.authenticationTokenWebhookCacheTtlMs,
    doc: 'In a cluster: how long the owner of a token is cached',
  },
  authorizationMode: {
    type: AUTHORIZATION_MODES,
    default: 'AlwaysAllow',
    defaultInCluster: 'Webhook',
    flag: '--authorization-mode',
    group: 'Server and security',
    field: 'authorization.mode',
    // As a kubelet with a file: the authority of a cluster vouches for many who may not do everything.
    fromConfig: ({ authorizationMode, clientCAFile }) =>
      authorizationMode ?? (clientCAFile === undefined ? undefined : 'Webhook'),
    doc: 'What authenticated clients of --port may do: everything (AlwaysAllow), or what the API server allows (Webhook; also the default of a file with a clientCAFile). Without a cluster, Webhook admits only certificates of the group system:masters',
  },
  authorizationWebhookCacheAuthorizedTtlMs: {
    type: 'duration',
    default: 5 * MINUTE,
    flag: '--authorization-webhook-cache-authorized-ttl',
    group: 'Server and security',
    field: 'authorization.webhook.cacheAuthorizedTTL',
    fromConfig: (config) => config.authorizationWebhookCacheAuthorizedTtlMs,
    doc: 'In a cluster: how long a permission is cached',
  },
  authorizationWebhookCacheUnauthorizedTtlMs: {
    type: 'duration',
    default: 30 * SECOND,
    flag: '--authorization-webhook-cache-unauthorized-ttl',
    group: 'Server and security',
    field: 'authorization.webhook.cacheUnauthorizedTTL',
    fromConfig: (config) => config.authorizationWebhookCacheUnauthorizedTtlMs,
    doc: 'In a cluster: how long a refusal is cached',
  },
  enableDebuggingHandlers: {
    type: 'switch',
    default: true,
    flag: '--enable-debugging-handlers',
    group: 'Server and security',
    field: 'enableDebuggingHandlers',
    fromConfig: (config) => config.enableDebuggingHandlers,
    doc: 'Serve container logs, node logs, commands in containers, and connections to containers on --port',
  },
  enableSystemLogHandler: {
    type: 'switch',
    default: true,
    flag: '--enable-system-log-handler',
    group: 'Server and security',
    field: 'enableSystemLogHandler',
    fromConfig: (config) => config.enableSystemLogHandler,
    doc: 'Serve the log folder of the node on --port',
  },
  nodeLogsDir: {
    type: 'path',
    default: '/var/log',
    flag: '--node-logs-dir',
    group: 'Server and security',
    doc: 'Log folder of the node, served at /logs/ to clients that may do everything',
  },
};
