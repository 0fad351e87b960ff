import { type JournalEntry } from '../data/journal-entry.js';
import { type Tracks } from './tracks.js';

/** Records that are added without a pause: a few milliseconds, on a slow machine too. */
const SLICE = 4_000;

/** Adds records to tracks, with pauses in which a page can answer. The list may become longer meanwhile. */
export async function addInSlices(tracks: Tracks, entries: readonly JournalEntry[], from = 0): Promise<void> {
  for (let at = from; at < entries.length; at++) {
    tracks.add(entries[at]!);
    if ((at - from) % SLICE === SLICE - 1) await new Promise((resolve) => setTimeout(resolve));
  }
}
