import { type Release, RELEASES } from './installed.js';

/**
 * The releases for what hardly differs between them: all in the whole run, else the newest. Which connection, events and
 * churn they have is tried on each of them, always.
 */
export const TRIED_RELEASES: readonly Release[] =
  process.env['PODLOOP_CHURN'] === 'full' ? RELEASES : ['2.1'];
