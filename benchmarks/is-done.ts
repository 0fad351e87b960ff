import { isKnownCommit, type MachineFacts } from './machine-facts.js';
import { type KeptResult } from './kept-result.js';

/** What a run would be of. */
export type RunIdentity = Pick<KeptResult, 'full' | 'settings'> & Pick<MachineFacts, 'commit' | 'versions'>;

/**
 * Whether a result that is kept is what a run would find again: of the same commit, length and settings, with the
 * same programs beside. What was
 * measured with files that are in no commit is of no use: nobody knows which they were.
 */
export function isDone(
  kept: Pick<KeptResult, 'full' | 'settings' | 'facts'> | undefined,
  { commit, full, settings, versions }: RunIdentity,
): boolean {
  if (kept === undefined || kept.full !== full || kept.facts.commit !== commit) return false;
  if (!isKnownCommit(commit)) return false;
  return isSame(kept.settings, settings) && isSame(kept.facts.versions ?? {}, versions ?? {});
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}
