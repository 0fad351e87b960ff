import { InvalidArgumentError, Option } from 'commander';
import { KlogLogger } from '#base/log/klog.js';
import { type LogSettings } from '#base/log/log-settings.js';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { LogLines } from './log-lines.js';

/** The flag for the log level of a command (default: 0). */
export function verbosityOption(description: string): Option {
  return new Option('-v, --verbosity <level>', description).argParser(parseLevel).default(0);
}

/** A logger to standard error in klog's form, with info lines up to that verbosity. It never waits for a reader. */
export function createLogger(host: CliHost, verbosity: number): Logger {
  return createLog(host, { verbosity }).logger;
}

/** The same, and the lines that it writes. */
export function createLog(
  { stderr, log = stderr, clock, pid }: CliHost,
  { verbosity, format = 'text', vmodule = [] }: Pick<LogSettings, 'verbosity'> & Partial<LogSettings>,
): { readonly logger: Logger; readonly lines: LogLines } {
  const settings = { clock, pid, verbosity, format, vmodule };
  const describe = (dropped: number): string => {
    let told = '';
    const teller = new KlogLogger({ ...settings, write: (line) => (told = line) });
    teller.warn('Log lines were dropped, as their reader did not keep up', { dropped });
    return told;
  };
  const lines = new LogLines({ output: log, describe });
  return { logger: new KlogLogger({ ...settings, write: (line) => lines.write(line) }), lines };
}

function parseLevel(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError('use a whole number such as 2');
  return Number(text);
}
