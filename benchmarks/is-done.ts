import { type KeptResult } from './results-page.js';

/** What a run would be of. */
export type RunIdentity = Pick<KeptResult, 'full' | 'settings'> & { readonly commit: string };

/**
 * Whether a result that is kept is what a run would find again: of the same commit, length and settings. What was
 * measured with files that are in no commit is of no use: nobody knows which they were.
 */
export function isDone(
  kept: Pick<KeptResult, 'full' | 'settings' | 'facts'> | undefined,
  { commit, full, settings }: RunIdentity,
): boolean {
  if (kept === undefined || kept.full !== full || kept.facts.commit !== commit) return false;
  if (!isKnownCommit(commit)) return false;
  const names = new Set([...Object.keys(settings), ...Object.keys(kept.settings)]);
  return [...names].every((name) => kept.settings[name] === settings[name]);
}

/** False where files that are in no commit are part of what was measured. */
export function isKnownCommit(commit: string): boolean {
  return !commit.endsWith('+') && commit !== 'unknown';
}
