import { VERIFICATION_POLICIES, type VerificationPolicy } from '../images/verification-policy.js';
import { type OptionsTable } from './options-table.js';

/** The options for images, logs and dead containers: limits on their number, size and age. */
export interface ImageAndLogOptions {
  readonly maxParallelImagePulls: number;
  readonly imagePullCredentialsVerificationPolicy: VerificationPolicy;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  readonly imageGcHighThreshold: number;
  readonly imageGcLowThreshold: number;
  readonly imageMinimumGcAgeMs: number;
  /** Zero: images are removed only when the disk fills. */
  readonly imageMaximumGcAgeMs: number;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly containerLogMonitorIntervalMs: number;
  readonly maxContainerRestartPeriodMs: number;
  readonly minimumContainerTtlMs: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly maximumDeadContainers: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The rows of {@link ImageAndLogOptions}. */
export const IMAGE_AND_LOG_OPTIONS: OptionsTable<ImageAndLogOptions> = {
  maxParallelImagePulls: {
    type: 'count',
    default: 5,
    flag: '--max-parallel-image-pulls',
    group: 'Images and logs',
    field: 'maxParallelImagePulls',
    fromConfig: (config) =>
      config.maxParallelImagePulls ?? (config.serializeImagePulls === true ? 1 : undefined),
    doc: 'Maximum number of image pulls at the same time',
  },
  imagePullCredentialsVerificationPolicy: {
    type: VERIFICATION_POLICIES,
    default: 'NeverVerifyPreloadedImages',
    flag: '',
    field: 'imagePullCredentialsVerificationPolicy',
    fromConfig: (config) => config.imagePullCredentialsVerificationPolicy,
    doc: 'Which images on the node a pod may use only with credentials that have pulled them before',
  },
  preloadedImagesVerificationAllowlist: {
    type: 'list',
    default: [],
    flag: '',
    field: 'preloadedImagesVerificationAllowlist',
    fromConfig: (config) => config.preloadedImagesVerificationAllowlist,
    doc: 'Images that every pod may use if imagePullCredentialsVerificationPolicy is NeverVerifyAllowlistedImages',
  },
  imageCredentialProviderConfig: {
    type: 'text',
    default: '',
    defaultText: 'none',
    flag: '--image-credential-provider-config',
    group: 'Images and logs',
    doc: 'CredentialProviderConfig that names plugins for logins of registries, or a folder of such files',
  },
  imageCredentialProviderBinDir: {
    type: 'text',
    default: '',
    defaultText: 'none',
    flag: '--image-credential-provider-bin-dir',
    group: 'Images and logs',
    doc: 'Folder of those plugins',
  },
  imageGcHighThreshold: {
    type: 'percent',
    default: 85,
    flag: '--image-gc-high-threshold',
    group: 'Images and logs',
    field: 'imageGCHighThresholdPercent',
    fromConfig: (config) => config.imageGCHighThresholdPercent,
    doc: 'Disk usage in percent above which unused images that the agent has pulled are removed; 100 for never',
  },
  imageGcLowThreshold: {
    type: 'percent',
    default: 80,
    flag: '--image-gc-low-threshold',
    group: 'Images and logs',
    field: 'imageGCLowThresholdPercent',
    fromConfig: (config) => config.imageGCLowThresholdPercent,
    doc: 'Disk usage in percent at which the removal of images stops',
  },
  imageMinimumGcAgeMs: {
    type: 'duration',
    default: 2 * MINUTE,
    flag: '--minimum-image-ttl-duration',
    group: 'Images and logs',
    field: 'imageMinimumGCAge',
    fromConfig: (config) => config.imageMinimumGCAgeMs,
    doc: 'Minimum age of an image, counted from its pull, before it may be removed',
  },
  imageMaximumGcAgeMs: {
    type: 'duration',
    default: 0,
    flag: '',
    field: 'imageMaximumGCAge',
    fromConfig: (config) => config.imageMaximumGCAgeMs,
    doc: 'How long an image that the agent has pulled may be unused before it is removed, however empty the disk is; 0 for no limit',
  },
  containerLogMaxSizeBytes: {
    type: 'size',
    default: 10 * 1024 * 1024,
    flag: '--container-log-max-size',
    group: 'Images and logs',
    field: 'containerLogMaxSize',
    fromConfig: (config) => config.containerLogMaxSizeBytes,
    doc: 'Size at which the log of a container is rotated',
  },
  containerLogMaxFiles: {
    type: 'count',
    default: 5,
    flag: '--container-log-max-files',
    group: 'Images and logs',
    field: 'containerLogMaxFiles',
    fromConfig: (config) => config.containerLogMaxFiles,
    doc: 'Maximum number of log files per container',
  },
  containerLogMonitorIntervalMs: {
    type: 'duration',
    default: 10 * SECOND,
    flag: '',
    field: 'containerLogMonitorInterval',
    fromConfig: (config) => config.containerLogMonitorIntervalMs,
    doc: 'How often the size of logs is checked',
  },
  maxContainerRestartPeriodMs: {
    type: 'duration',
    default: 5 * MINUTE,
    flag: '',
    field: 'crashLoopBackOff.maxContainerRestartPeriod',
    fromConfig: (config) => config.maxContainerRestartPeriodMs,
    doc: 'Longest wait before a container that keeps failing is started again',
  },
  minimumContainerTtlMs: {
    type: 'duration',
    default: 0,
    flag: '--minimum-container-ttl-duration',
    group: 'Images and logs',
    doc: 'Minimum age of a dead container before it may be removed',
  },
  maximumDeadContainersPerContainer: {
    type: 'limit',
    default: 1,
    flag: '--maximum-dead-containers-per-container',
    group: 'Images and logs',
    doc: 'Maximum number of dead instances to keep of each container',
  },
  maximumDeadContainers: {
    type: 'limit',
    default: -1,
    flag: '--maximum-dead-containers',
    group: 'Images and logs',
    doc: 'Maximum number of dead containers to keep in total; -1 for no limit',
  },
};
