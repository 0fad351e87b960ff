import { definePublishingChannel } from './publishing-channel.js';

/** A volume of a pod was created or updated, or that failed. */
export interface VolumeSetUpEnd {
  readonly podUid: string;
  /** Its name in the pod. */
  readonly volume: string;
  /** The field of its source: emptyDir, configMap … */
  readonly source: string;
  readonly durationMs: number;
  readonly isSetUp: boolean;
}

/** See {@link VolumeSetUpEnd}: for each volume at each sync of its pod. */
export const volumeSetUpEnded = definePublishingChannel<VolumeSetUpEnd>('podloop:volumes:set-up:ended');

/** The volumes of a pod were removed, or that failed. */
export interface VolumesTearDownEnd {
  readonly podUid: string;
  /** For each that had files on the disk, the folder of its kind: kubernetes.io~empty-dir. */
  readonly kinds: readonly string[];
  /** The duration for all of them together. */
  readonly durationMs: number;
  readonly isTornDown: boolean;
}

/** See {@link VolumesTearDownEnd}. */
export const volumesTearDownEnded = definePublishingChannel<VolumesTearDownEnd>(
  'podloop:volumes:tear-down:ended',
);

/** The usage of a volume was measured, or that failed; in milliseconds. */
export const volumeMeasured = definePublishingChannel<{ readonly durationMs: number }>(
  'podloop:volumes:measured',
);

/** The volumes of pods that are gone were searched for and removed. */
export interface OrphanedVolumes {
  /** Pods whose volumes were removed. */
  readonly cleaned: number;
  /** Pods whose volumes could not be removed yet; this is retried. */
  readonly failed: number;
}

/** See {@link OrphanedVolumes}: once for each clean-up of folders. */
export const orphanedVolumesCleaned = definePublishingChannel<OrphanedVolumes>(
  'podloop:volumes:orphans:cleaned',
);
