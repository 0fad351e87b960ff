import { Option } from 'commander';
import { stripEquals } from './agent-session.js';

/** The flags of commands that read manifests. */
export interface FileFlags {
  readonly filename: readonly string[];
  readonly recursive: boolean;
}

/** `-f` and `-R`. */
export function fileOptions(): Option[] {
  return [
    new Option(
      '-f, --filename <file>',
      'File, folder or URL of manifests; - for standard input; may be given several times',
    )
      .argParser((text: string, before: readonly string[]) => [...before, ...stripEquals(text).split(',')])
      .default([], 'none'),
    new Option('-R, --recursive', 'Read the subfolders of -f as well').default(false),
  ];
}
