import { Cron } from 'croner';

/** The words that stand for a schedule, as in Kubernetes; `@every 1h30m` counts from the last run. */
const WORDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
/** Kubernetes takes lists, ranges and steps of numbers and names, and `*` or `?`. */
const FIELD =
  /^(?:(?:\*|\?|\d+(?:-\d+)?|[a-z]{3}(?:-[a-z]{3})?)(?:\/\d+)?)(?:,(?:\*|\?|\d+(?:-\d+)?|[a-z]{3}(?:-[a-z]{3})?)(?:\/\d+)?)*$/i;
const EVERY = /^@every (?=\d)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;
const RULE =
  'use five fields, minute, hour, day of the month, month and day of the week, as in "*/5 * * * *", or @hourly, @daily, @weekly, @monthly or @yearly';

/** The times at which a CronJob runs. */
export interface CronSchedule {
  /** The first time after another one, both in milliseconds since the epoch; undefined when there is none. */
  nextAfter(timeMs: number): number | undefined;
}

/** Parses a schedule in a time zone (default: that of this process). Throws an Error that says what would be right. */
export function parseCronSchedule(text: string, timeZone?: string): CronSchedule {
  if (/\bTZ=/.test(text)) throw new Error('use spec.timeZone in place of TZ in the schedule');
  const every = EVERY.exec(text);
  if (every !== null) return everyInterval(every.slice(1).map(Number));
  const pattern = Object.hasOwn(WORDS, text) ? WORDS[text]! : text;
  const fields = pattern.trim().split(/\s+/);
  // Other forms mean something to the parser, and nothing to Kubernetes.
  if (fields.length !== 5 || !fields.every((field) => FIELD.test(field)) || fields[4]!.includes('7')) {
    throw new Error(RULE);
  }
  let cron: Cron;
  try {
    cron = new Cron(fields.join(' '), { ...(timeZone === undefined ? {} : { timezone: timeZone }) });
  } catch (error) {
    throw new Error(findOutOfRange(fields) ?? RULE, { cause: error });
  }
  return { nextAfter: (timeMs) => cron.nextRun(new Date(timeMs))?.getTime() };
}

/** What the five fields count, with the smallest and the largest number. */
const RANGES: readonly (readonly [what: string, from: number, to: number])[] = [
  ['the minute', 0, 59],
  ['the hour', 0, 23],
  ['the day of the month', 1, 31],
  ['the month', 1, 12],
  ['the day of the week', 0, 6],
];

/** Which field has a number that it cannot have; undefined when none has. */
function findOutOfRange(fields: readonly string[]): string | undefined {
  const wrong = RANGES.find(([, from, to], at) =>
    fields[at]!.split(',').some((part) =>
      part
        .split('/')[0]!
        .split('-')
        .map(Number)
        .some((value) => value < from || value > to),
    ),
  );
  return wrong && `${wrong[0]} is a number from ${wrong[1]} to ${wrong[2]}`;
}

function everyInterval([hours, minutes, seconds]: readonly number[]): CronSchedule {
  const total = ((hours || 0) * 60 + (minutes || 0)) * 60 + (seconds || 0);
  if (total <= 0) throw new Error(RULE);
  return { nextAfter: (timeMs) => Math.floor(timeMs / 1_000) * 1_000 + total * 1_000 };
}

/** Whether this process knows a time zone. */
export function isTimeZone(name: string): boolean {
  // As in Kubernetes: the zone of a machine is another one elsewhere.
  if (name === '' || name.toLowerCase() === 'local') return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
