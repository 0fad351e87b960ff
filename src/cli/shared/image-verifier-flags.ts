import { InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';
import type { EmbeddedRuntimeOptions } from '#box';
import { PodloopError } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { parsePositiveDuration } from './flag-values.js';

/** The flags of programs that have to agree to each pull, as they were given. */
export interface ImageVerifierFlags {
  readonly imageVerifierBinDir?: string;
  readonly maxImageVerifiers?: string;
  readonly imageVerifierTimeout?: string;
}

const FOLDER = '--image-verifier-bin-dir';
const MAX = '--max-image-verifiers';
const TIMEOUT = '--image-verifier-timeout';

/** The flags, below a heading of the help; see {@link readImageVerifiers} and {@link toRuntimeFlags}. */
export function imageVerifierOptions(heading: string): readonly Option[] {
  const options = [
    new Option(
      `${FOLDER} <folder>`,
      'Folder of programs that have to agree to each pull of the embedded runtime, as containerd’s image verifier plugins (default: none, no signature is checked)',
    ),
    new Option(`${MAX} <number>`, 'Maximum number of programs in that folder (default: 10)').argParser(
      (text) => {
        if (!/^[1-9]\d{0,3}$/.test(text))
          throw new InvalidArgumentError('use a whole number between 1 and 9999');
        return text;
      },
    ),
    new Option(`${TIMEOUT} <duration>`, 'How long each of them may take (default: 10s)').argParser(
      (text) => (parsePositiveDuration(text), text),
    ),
  ];
  return options.map((option) => option.helpGroup(heading));
}

/** What they mean for a runtime. Throws OPTION_INVALID for a limit without a folder. */
export function readImageVerifiers(flags: ImageVerifierFlags): EmbeddedRuntimeOptions['imageVerifiers'] {
  const { imageVerifierBinDir: folder, maxImageVerifiers: max, imageVerifierTimeout: timeout } = flags;
  if (folder === undefined) {
    const given = max === undefined ? (timeout === undefined ? undefined : TIMEOUT) : MAX;
    if (given === undefined) return undefined;
    throw new PodloopError('OPTION_INVALID', `${given} has no effect without ${FOLDER}`);
  }
  return {
    binDir: resolve(folder),
    ...(max !== undefined && { maxVerifiers: Number(max) }),
    ...(timeout !== undefined && { timeoutMs: parseGoDuration(timeout, TIMEOUT) }),
  };
}

/** The same flags for a runtime that is started. Throws as {@link readImageVerifiers}. */
export function toRuntimeFlags(flags: ImageVerifierFlags): readonly string[] {
  const read = readImageVerifiers(flags);
  const { maxImageVerifiers: max, imageVerifierTimeout: timeout } = flags;
  if (read === undefined) return [];
  return [
    ...[FOLDER, read.binDir],
    ...(max === undefined ? [] : [MAX, max]),
    ...(timeout === undefined ? [] : [TIMEOUT, timeout]),
  ];
}
