/** What the rotated files of one log come to. Names without their folder. */
export interface LogRotationPlan {
  /** Left over from a rotation that was interrupted, and the oldest of too many. */
  readonly remove: readonly string[];
  /** To be compressed, oldest first. */
  readonly compress: readonly string[];
}

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';

/**
 * What is to be done with the files that the log `name` was rotated into before it is rotated once more, so that there
 * are no more than `maxFiles` then, the log itself included. Pure.
 *
 * A file whose compressed form is there was compressed whole: only its removal is missing. One that is temporary was
 * not, and its original is there.
 */
export function planLogRotation(name: string, files: readonly string[], maxFiles: number): LogRotationPlan {
  const own = files.filter((file) => file.startsWith(`${name}.`));
  const isLeftOver = (file: string): boolean =>
    file.endsWith(TEMPORARY) || (!file.endsWith(COMPRESSED) && own.includes(file + COMPRESSED));
  const inUse = own.filter((file) => !isLeftOver(file)).toSorted();
  // The log that is rotated now is one more, and the new one another.
  const tooMany = Math.max(0, inUse.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...own.filter(isLeftOver), ...inUse.slice(0, tooMany)],
    compress: inUse.slice(tooMany).filter((file) => !file.endsWith(COMPRESSED)),
  };
}

/**
 * The name that the log `name` gets as it is rotated: `0.log.20260102-030405`, in UTC. Always after those that are
 * there, whatever the clock says, as the order of names is the order of time. Pure.
 */
export function rotatedName(name: string, files: readonly string[], nowMs: number): string {
  const stamps = files.flatMap((file) => {
    if (!file.startsWith(`${name}.`)) return [];
    return parseStamp(file.slice(name.length + 1)) ?? [];
  });
  return `${name}.${formatStamp(Math.max(nowMs, ...stamps.map((stamp) => stamp + 1_000)))}`;
}

function formatStamp(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T');
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

function parseStamp(text: string): number | undefined {
  const digits = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)/.exec(text);
  if (digits === null) return undefined;
  const [year, month, day, hour, minute, second] = digits.slice(1).map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}
