import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AnswerHistory } from './faults/answer-history.js';
import { type Injections } from './faults/injections.js';
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
