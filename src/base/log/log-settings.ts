import { PodloopError } from '../errors/errors.js';
import { matchesWildcards } from '../text/matches-wildcards.js';

/** The format and verbosity of a log. */
export interface LogSettings {
  readonly format: 'text' | 'json';
  /** Info lines up to this verbosity are shown. */
  readonly verbosity: number;
  /** Verbosities by file name. The first match wins. */
  readonly vmodule: readonly VModuleRule[];
}

/** A different verbosity for some source files. */
export interface VModuleRule {
  /** A file without folder and extension, as lines name it; `*` matches any text and `?` any character. */
  readonly filePattern: string;
  readonly verbosity: number;
}

/**
 * Parses `pleg=4,sync-*=5`, as in the kubelet's --vmodule. Throws OPTION_INVALID naming `flag`, the part, and
 * what would be right.
 */
export function parseVModule(text: string, flag = '--vmodule'): VModuleRule[] {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  return parts.map((part) => {
    const [, filePattern = '', level = ''] = /^\s*([^=\s]+)\s*=\s*(\d{1,9})\s*$/.exec(part) ?? [];
    const problem =
      filePattern === '' ? 'is not pattern=N, as in pleg=4,sync-*=5' : findPatternProblem(filePattern);
    if (problem === undefined) return { filePattern, verbosity: Number(level) };
    throw new PodloopError('OPTION_INVALID', `${flag}: ${JSON.stringify(part.trim())} ${problem}`);
  });
}

/** What is wrong with a pattern of file names; undefined if it is valid. */
export function findPatternProblem(pattern: string): string | undefined {
  if (/^[A-Za-z0-9_.*?-]{1,100}$/.test(pattern)) return undefined;
  return 'has a pattern that no file of podloop has: use letters, digits, - . _ * and ?, without folders, as in sync-*';
}

/** Whether the pattern matches a file, named with its extension and without its folder. */
export function matchesFile(filePattern: string, file: string): boolean {
  const name = file.replace(/\.[a-z]+$/, '');
  return matchesWildcards(filePattern, name);
}
