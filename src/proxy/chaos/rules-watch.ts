import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { readRules } from './read-rules.js';
import { type Rule } from './chaos-rule.js';
import { parseRules } from './rules-file.js';

/** What {@link watchRules} needs. */
export interface RulesWatchOptions {
  readonly file: string;
  /** The text that is in force. */
  readonly text: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRules: (rules: Rule[]) => void;
}

/** A file system has no event that all editors agree on. */
const LOOK_EVERY_MS = 250;

/**
 * Reads the rules again whenever the file's text has changed, until the signal aborts. A file that cannot be used, or
 * read, is told of once, and what was in force stays so. A text counts once two looks have seen it: editors write in
 * steps.
 */
export async function watchRules(options: RulesWatchOptions, signal: AbortSignal): Promise<void> {
  const { file, clock, logger, onRules } = options;
  let [judged, seen] = [options.text, options.text];
  let complaint: string | undefined;
  while (await sleepUnlessAborted(clock, signal)) {
    try {
      const text = await readRules(file);
      const isSteady = text === seen;
      seen = text;
      if (!isSteady || text === judged) continue;
      judged = text;
      const rules = parseRules(text, file);
      onRules(rules);
      complaint = undefined;
      logger.info('Rules read again', { file, rules: rules.length });
    } catch (error) {
      if (complaint !== messageOf(error)) {
        logger.error('Rules file cannot be used, the rules from before stay in force', error, { file });
      }
      complaint = messageOf(error);
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
