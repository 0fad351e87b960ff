import { InvalidArgumentError, Option } from 'commander';
import { KlogLogger } from '../util/klog.js';
import { type Logger } from '../util/logger.js';
import { type CliHost } from './cli-host.js';

/** The flag that says how much of a command's own doings is logged: 0 unless told. */
export function verbosityOption(description: string): Option {
  return new Option('-v, --verbosity <level>', description).argParser(parseLevel).default(0);
}

/** A logger to standard error in klog's form, with info lines up to that verbosity. */
export function createLogger({ stderr, clock, pid }: CliHost, verbosity: number): Logger {
  return new KlogLogger({ write: (line) => void stderr.writeLine(line), clock, pid, verbosity });
}

function parseLevel(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('use a whole number such as 2');
  return Number(text);
}
