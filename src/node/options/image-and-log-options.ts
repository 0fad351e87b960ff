import { VERIFICATION_POLICIES, type VerificationPolicy } from '../images/verification-policy.js';
import { type OptionsTable } from './options-table.js';

/** What an agent is told of images, logs and dead containers: how many there are at once, and how long they are kept. */
export interface ImageAndLogOptions {
  readonly maxParallelImagePulls: number;
  readonly imagePullCredentialsVerificationPolicy: VerificationPolicy;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly imageGcHighThreshold: number;
  readonly imageGcLowThreshold: number;
  readonly imageMinimumGcAgeMs: number;
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
    field: 'maxParallelImagePulls',
    fromConfig: (config) =>
      config.maxParallelImagePulls ?? (config.serializeImagePulls === true ? 1 : undefined),
    doc: 'How many images are pulled at once',
  },
  imagePullCredentialsVerificationPolicy: {
    type: VERIFICATION_POLICIES,
    default: 'NeverVerifyPreloadedImages',
    flag: '',
    field: 'imagePullCredentialsVerificationPolicy',
    fromConfig: (config) => config.imagePullCredentialsVerificationPolicy,
    doc: 'Which images that are on the node a pod may use only with a login that they were pulled with',
  },
  preloadedImagesVerificationAllowlist: {
    type: 'list',
    default: [],
    flag: '',
    field: 'preloadedImagesVerificationAllowlist',
    fromConfig: (config) => config.preloadedImagesVerificationAllowlist,
    doc: 'Images that every pod may use where imagePullCredentialsVerificationPolicy is NeverVerifyAllowlistedImages',
  },
  imageGcHighThreshold: {
    type: 'percent',
    default: 85,
    flag: '--image-gc-high-threshold',
    field: 'imageGCHighThresholdPercent',
    fromConfig: (config) => config.imageGCHighThresholdPercent,
    doc: 'How full the disk of images is, in percent, when images that the agent has pulled and nobody uses are removed; 100 for never',
  },
  imageGcLowThreshold: {
    type: 'percent',
    default: 80,
    flag: '--image-gc-low-threshold',
    field: 'imageGCLowThresholdPercent',
    fromConfig: (config) => config.imageGCLowThresholdPercent,
    doc: 'How full the disk of images may stay then',
  },
  imageMinimumGcAgeMs: {
    type: 'duration',
    default: 2 * MINUTE,
    flag: '--minimum-image-ttl-duration',
    field: 'imageMinimumGCAge',
    fromConfig: (config) => config.imageMinimumGCAgeMs,
    doc: 'How long an image is kept at least after it was pulled',
  },
  containerLogMaxSizeBytes: {
    type: 'size',
    default: 10 * 1024 * 1024,
    flag: '--container-log-max-size',
    field: 'containerLogMaxSize',
    fromConfig: (config) => config.containerLogMaxSizeBytes,
    doc: 'How large the log of a container grows before it is rotated',
  },
  containerLogMaxFiles: {
    type: 'count',
    default: 5,
    flag: '--container-log-max-files',
    field: 'containerLogMaxFiles',
    fromConfig: (config) => config.containerLogMaxFiles,
    doc: 'How many files the log of a container has at most',
  },
  containerLogMonitorIntervalMs: {
    type: 'duration',
    default: 10 * SECOND,
    flag: '',
    field: 'containerLogMonitorInterval',
    fromConfig: (config) => config.containerLogMonitorIntervalMs,
    doc: 'How often the size of logs is looked at',
  },
  maxContainerRestartPeriodMs: {
    type: 'duration',
    default: 5 * MINUTE,
    flag: '',
    field: 'crashLoopBackOff.maxContainerRestartPeriod',
    fromConfig: (config) => config.maxContainerRestartPeriodMs,
    doc: 'How long at most a container that keeps failing waits before it is started again',
  },
  minimumContainerTtlMs: {
    type: 'duration',
    default: 0,
    flag: '--minimum-container-ttl-duration',
    doc: 'How long a dead container is kept at least',
  },
  maximumDeadContainersPerContainer: {
    type: 'limit',
    default: 1,
    flag: '--maximum-dead-containers-per-container',
    doc: 'How many dead containers are kept of each container',
  },
  maximumDeadContainers: {
    type: 'limit',
    default: -1,
    flag: '--maximum-dead-containers',
    doc: 'How many dead containers are kept in all; -1 for any number',
  },
};
