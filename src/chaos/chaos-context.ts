import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { type AnswerHistory } from './answer-history.js';
import { type Injections } from './injections.js';
import { type PodDirectory } from './pod-directory.js';
import { type RuleBook } from './rule-book.js';

/** What everything that injects faults works with. */
export interface ChaosContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly book: RuleBook;
  readonly directory: PodDirectory;
  readonly history: AnswerHistory;
  readonly injections: Injections;
}
