import { definePublishingChannel } from './channels.js';

/** A volume of a pod was made, or brought up to date, or could not be. */
export interface VolumeSetUpEnd {
  /** The field that says what it is: emptyDir, configMap … */
  readonly source: string;
  readonly durationMs: number;
  readonly isSetUp: boolean;
}

/** See {@link VolumeSetUpEnd}: for each volume at each sync of its pod. */
export const volumeSetUpEnded = definePublishingChannel<VolumeSetUpEnd>('podloop:volumes:set-up:ended');

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
