import { Option } from 'commander';

/** What a command that changes objects does: all of it; it only looks; or the agent checks it and keeps nothing. */
export type DryRun = 'none' | 'client' | 'server';

/** What stands behind the words of what was done, as kubectl has it. */
export const DRY_RUN_WORDS: Readonly<Record<DryRun, string>> = {
  none: '',
  client: ' (dry run)',
  server: ' (server dry run)',
};

/** `--dry-run`. */
export function dryRunOption(description: string): Option {
  return new Option('--dry-run <how>', description).choices(['none', 'client', 'server']).default('none');
}
