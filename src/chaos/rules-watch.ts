import { readFile } from 'node:fs/promises';
import { type Clock } from '../util/clock.js';
import { messageOf } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { type Rule } from './rule.js';
import { parseRules } from './rules-file.js';

export interface RulesWatchOptions {
  readonly file: string;
  /** The text that is in force. */
  readonly text: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRules: (rules: Rule[]) => void;
}

/** Editors write in steps, and a file system has no event that all of them agree on. */
const LOOK_EVERY_MS = 500;

/**
 * Reads the rules again whenever the file's text has changed, until the signal aborts. A file that cannot be used, or
 * read, is told of once, and what was in force stays so.
 */
export async function watchRules(options: RulesWatchOptions, signal: AbortSignal): Promise<void> {
  const { file, clock, logger, onRules } = options;
  let seen = options.text;
  let complaint: string | undefined;
  const complain = (message: string, error: unknown): void => {
    if (complaint !== messageOf(error)) logger.error(message, error, { file });
    complaint = messageOf(error);
  };
  while (await sleepUnlessAborted(clock, signal)) {
    let text: string;
    try {
      text = await readFile(file, 'utf8');
    } catch (error) {
      complain('Rules file cannot be read, the rules from before stay in force', error);
      continue;
    }
    if (text === seen) continue;
    seen = text;
    try {
      const rules = parseRules(text, file);
      onRules(rules);
      complaint = undefined;
      logger.info('Rules read again', { file, rules: rules.length });
    } catch (error) {
      complain('Rules file cannot be used, the rules from before stay in force', error);
    }
  }
}

/** False once the signal has aborted. */
async function sleepUnlessAborted(clock: Clock, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(LOOK_EVERY_MS, signal);
    return true;
  } catch {
    return false;
  }
}
