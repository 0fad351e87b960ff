/** What to do with the rotated files of one log. Names without their folder. */
export interface LogRotationPlan {
  /** Leftovers of an interrupted rotation, and the oldest of too many. */
  readonly remove: readonly string[];
  /** Files to compress, oldest first. */
  readonly compress: readonly string[];
}

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';

/**
 * Plans the next rotation of the log `name`, so that no more than `maxFiles` remain, including the log
 * itself. Pure.
 *
 * A file with a compressed version was compressed completely: only its removal is missing. A temporary file
 * is incomplete, and its original exists.
 */
export function planLogRotation(name: string, files: readonly string[], maxFiles: number): LogRotationPlan {
  const own = files.filter((file) => file.startsWith(`${name}.`));
  const isLeftOver = (file: string): boolean =>
    file.endsWith(TEMPORARY) || (!file.endsWith(COMPRESSED) && own.includes(file + COMPRESSED));
  const inUse = own.filter((file) => !isLeftOver(file)).toSorted();
  // The log that is rotated now adds one, and the new one another.
  const tooMany = Math.max(0, inUse.length - Math.max(0, maxFiles - 2));
  return {
    remove: [...own.filter(isLeftOver), ...inUse.slice(0, tooMany)],
    compress: inUse.slice(tooMany).filter((file) => !file.endsWith(COMPRESSED)),
  };
}

/**
 * The name of the log `name` after its rotation: `0.log.20260102-030405`, in UTC. Pure.
 *
 * It always sorts after the existing ones, whatever the clock says, as the order of names is the order of
 * time.
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
