import { describe, expect, it } from 'vitest';
import { toUsageError } from './usage-error.js';

describe('complaints about the command line', () => {
  it('name an unknown command and what may have been meant, as kubectl does', () => {
    const complaint = "error: unknown command 'wach'\n(Did you mean watch?)\n";
    expect(toUsageError(complaint, 'podloop')).toBe(
      'error: unknown command "wach" for "podloop"\n\nDid you mean this?\n\twatch\n\nSee \'podloop --help\' for usage.',
    );
  });

  it('name an unknown flag', () => {
    const complaint = "error: unknown option '--mod'\n(Did you mean --mode?)";
    expect(toUsageError(complaint, 'podloop watch')).toBe(
      "error: unknown flag: --mod\nDid you mean --mode?\nSee 'podloop watch --help' for usage.",
    );
  });

  it('name flag, value and what would be right', () => {
    const complaint =
      "error: option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are text.";
    expect(toUsageError(complaint, 'podloop watch')).toMatch(
      /^error: invalid argument "xml" for "--output" flag: Allowed choices are text\.\n/,
    );
    expect(toUsageError("error: option '--pod <pod>' argument missing", 'podloop watch')).toMatch(
      /^error: flag needs an argument: --pod\n/,
    );
  });

  it('leave the rest as it is', () => {
    expect(toUsageError('error: something else', 'podloop')).toMatch(/^error: something else\n/);
  });
});
