import { definePublishingChannel } from './publishing-channel.js';

/** A volume of a pod was made, or brought up to date, or could not be. */
export interface VolumeSetUpEnd {
  readonly podUid: string;
  /** By its name in the pod. */
  readonly volume: string;
  /** The field that says what it is: emptyDir, configMap … */
  readonly source: string;
  readonly durationMs: number;
  readonly isSetUp: boolean;
}

/** See {@link VolumeSetUpEnd}: for each volume at each sync of its pod. */
export const volumeSetUpEnded = definePublishingChannel<VolumeSetUpEnd>('podloop:volumes:set-up:ended');

/** The volumes of a pod were taken away, or could not be. */
export interface VolumesTearDownEnd {
  readonly podUid: string;
  /** For each that had something on the disk, the folder of its kind: kubernetes.io~empty-dir. */
  readonly kinds: readonly string[];
  /** Of all of them together. */
  readonly durationMs: number;
  readonly isTornDown: boolean;
}

/** See {@link VolumesTearDownEnd}. */
export const volumesTearDownEnded = definePublishingChannel<VolumesTearDownEnd>(
  'podloop:volumes:tear-down:ended',
);

/** It was counted how much a volume uses, or that could not be told; in milliseconds. */
export const volumeMeasured = definePublishingChannel<{ readonly durationMs: number }>(
  'podloop:volumes:measured',
);

/** The volumes of pods that are gone were looked for and given back. */
export interface OrphanedVolumes {
  /** Pods whose volumes were given back. */
  readonly cleaned: number;
  /** Pods whose volumes could not be, and will be tried again. */
  readonly failed: number;
}

/** See {@link OrphanedVolumes}: once for each time that folders are cleared up. */
export const orphanedVolumesCleaned = definePublishingChannel<OrphanedVolumes>(
  'podloop:volumes:orphans:cleaned',
);
