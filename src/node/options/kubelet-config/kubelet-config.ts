import { type VerificationPolicy } from '../../images/verification-policy.js';

/**
 * A KubeletConfiguration as far as podloop honours it: fields of kubelet.config.k8s.io/v1beta1. Durations are in milliseconds; what is absent was not written.
 *
 * Source: https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
 */
export interface KubeletConfig {
  readonly staticPodPath?: string;
  readonly staticPodURL?: string;
  readonly staticPodURLHeader?: Readonly<Record<string, readonly string[]>>;
  readonly podLogsDir?: string;
  readonly enableServer?: boolean;
  readonly address?: string;
  readonly readOnlyPort?: number;
  readonly healthzPort?: number;
  readonly healthzBindAddress?: string;
  readonly port?: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsMinVersion?: 'VersionTLS12' | 'VersionTLS13';
  readonly tlsCipherSuites?: readonly string[];
  readonly rotateCertificates?: boolean;
  readonly serverTLSBootstrap?: boolean;
  readonly clientCAFile?: string;
  readonly anonymousAuth?: boolean;
  readonly authorizationMode?: 'AlwaysAllow' | 'Webhook';
  readonly authenticationTokenWebhook?: boolean;
  readonly authenticationTokenWebhookCacheTtlMs?: number;
  readonly authorizationWebhookCacheAuthorizedTtlMs?: number;
  readonly authorizationWebhookCacheUnauthorizedTtlMs?: number;
  readonly enableDebuggingHandlers?: boolean;
  readonly enableSystemLogHandler?: boolean;
  readonly registerNode?: boolean;
  /** Each `key=value:Effect`. */
  readonly registerWithTaints?: readonly string[];
  readonly providerID?: string;
  readonly kubeAPIQPS?: number;
  readonly kubeAPIBurst?: number;
  readonly eventRecordQPS?: number;
  readonly eventBurst?: number;
  readonly nodeStatusUpdateFrequencyMs?: number;
  readonly nodeStatusReportFrequencyMs?: number;
  readonly nodeLeaseDurationSeconds?: number;
  readonly nodeStatusMaxImages?: number;
  readonly syncFrequencyMs?: number;
  readonly fileCheckFrequencyMs?: number;
  readonly httpCheckFrequencyMs?: number;
  readonly runtimeRequestTimeoutMs?: number;
  readonly containerRuntimeEndpoint?: string;
  readonly cgroupDriver?: 'cgroupfs' | 'systemd';
  readonly cgroupRoot?: string;
  readonly podPidsLimit?: number;
  readonly cgroupsPerQOS?: boolean;
  readonly cpuCFSQuota?: boolean;
  readonly cpuCFSQuotaPeriodMs?: number;
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  readonly resolvConf?: string;
  readonly clusterDNS?: readonly string[];
  readonly clusterDomain?: string;
  readonly seccompDefault?: boolean;
  readonly allowedUnsafeSysctls?: readonly string[];
  readonly serializeImagePulls?: boolean;
  readonly maxParallelImagePulls?: number;
  readonly imagePullCredentialsVerificationPolicy?: VerificationPolicy;
  readonly preloadedImagesVerificationAllowlist?: readonly string[];
  readonly imageMinimumGCAgeMs?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly containerLogMaxSizeBytes?: number;
  readonly containerLogMaxFiles?: number;
  readonly containerLogMonitorIntervalMs?: number;
  readonly maxContainerRestartPeriodMs?: number;
  readonly logging?: {
    readonly format?: 'text' | 'json';
    readonly verbosity?: number;
    readonly vmodule?: readonly { readonly filePattern: string; readonly verbosity: number }[];
  };
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  /** Durations by signal. */
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  /** In seconds. */
  readonly evictionMaxPodGracePeriod?: number;
  readonly evictionMinimumReclaim?: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionPeriodMs?: number;
  readonly mergeDefaultEvictionSettings?: boolean;
}
