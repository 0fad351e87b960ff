const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Below `belowMs` a duration is shown in `unitMs`, with the remainder in `restMs`. */
interface Scale {
  readonly belowMs: number;
  readonly unitMs: number;
  readonly restMs?: number;
}

const SCALES: readonly Scale[] = [
  { belowMs: 2 * MINUTE, unitMs: SECOND },
  { belowMs: 10 * MINUTE, unitMs: MINUTE, restMs: SECOND },
  { belowMs: 3 * HOUR, unitMs: MINUTE },
  { belowMs: 8 * HOUR, unitMs: HOUR, restMs: MINUTE },
  { belowMs: 2 * DAY, unitMs: HOUR },
  { belowMs: 8 * DAY, unitMs: DAY, restMs: HOUR },
  { belowMs: 2 * YEAR, unitMs: DAY },
  { belowMs: 8 * YEAR, unitMs: YEAR, restMs: DAY },
];

const SUFFIXES = new Map([
  [SECOND, 's'],
  [MINUTE, 'm'],
  [HOUR, 'h'],
  [DAY, 'd'],
  [YEAR, 'y'],
]);

/**
 * Formats an age like kubectl's tables, less exactly the longer it is: `45s`, `5m10s`, `90m`, `4h5m`, `3d2h`,
 * `40d`.
 */
export function formatHumanDuration(durationMs: number): string {
  // A clock that was set back must not show a negative age.
  const ms = Math.max(0, durationMs);
  const { unitMs, restMs } = SCALES.find(({ belowMs }) => ms < belowMs) ?? { unitMs: YEAR };
  const rest = restMs === undefined ? 0 : Math.floor((ms % unitMs) / restMs);
  const whole = `${Math.floor(ms / unitMs)}${SUFFIXES.get(unitMs) ?? ''}`;
  return restMs === undefined || rest === 0 ? whole : `${whole}${rest}${SUFFIXES.get(restMs) ?? ''}`;
}
