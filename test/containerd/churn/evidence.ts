import { hasLookWithin, type Look } from './looks.js';
import { type SeenEvent } from './seen-event.js';
import { type ChurnLog, type ContainerStory, type OwnWords, type SandboxStory } from './story.js';

/** A container that is gone within this time may never have been seen, if nobody knows when the looks were. */
const UNSEEN_MS = 2_500;
/** containerd needs a moment to write down how a container ended: what ended shortly before its death may be lost. */
const BEFORE_OUTAGE_MS = 2_000;
/** How long after an outage things may still be late. */
const AFTER_OUTAGE_MS = 2_000;

/** Everything that is judged. */
export interface Evidence {
  readonly log: ChurnLog;
  readonly ownWords: ReadonlyMap<string, OwnWords>;
  readonly events: readonly SeenEvent[];
  /** Absent when nobody could see when the generator looked. */
  readonly looks?: readonly Look[];
  /** The start of the run: times in the stories are told from here. */
  readonly originMs: number;
}

/** Whether somebody must have seen it during that time. */
export function wasVisible(
  { log, looks }: Evidence,
  story: ContainerStory | SandboxStory,
  fromMs: number,
  untilMs: number,
): boolean {
  if (looks === undefined) return untilMs - fromMs > UNSEEN_MS && !isNearOutage(log, fromMs, untilMs);
  if (!hasLookWithin(looks, story.podUid, fromMs, untilMs)) return false;
  // A look that the runtime's death cut off before the status was fetched comes too late for what is removed at once.
  return story.removalClass === 'settled' || !isNearOutage(log, fromMs, untilMs);
}

/** Whether containerd was down, or had just come back, at some time between the two. */
export function isNearOutage({ outages }: ChurnLog, fromMs: number, untilMs: number): boolean {
  return outages.some((outage) => outage.fromMs <= untilMs && outage.untilMs + AFTER_OUTAGE_MS >= fromMs);
}

/**
 * The exit codes that a container may have besides those that were intended, because containerd was killed while it
 * had to do with its creation, start or end: 255 for an end that it lost, 128 for a start that failed, and anything
 * where the container's own first process never got as far as its program.
 */
export function codesOfFailure(
  { log, ownWords }: Evidence,
  story: ContainerStory,
): readonly number[] | 'any' {
  const own = ownWords.get(story.key);
  const noted = (call: string): boolean => story.notes.some((note) => note.startsWith(call));
  if (own?.startMs === undefined && (noted('CreateContainer') || noted('StartContainer'))) return 'any';
  const ends = [own?.endMs, story.killedMs, story.verdict?.finishedAtMs];
  const endedNearOutage = ends.some(
    (endMs) => endMs !== undefined && isNearOutage(log, endMs, endMs + BEFORE_OUTAGE_MS),
  );
  // A stop that was under way when containerd died had done its work or not.
  return endedNearOutage || noted('StopContainer') ? [255, 128] : [];
}
