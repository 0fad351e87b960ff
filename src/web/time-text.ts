const TIME = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const MINUTES = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
const ZONE = new Intl.DateTimeFormat(undefined, { hour: 'numeric', timeZoneName: 'shortOffset' });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });

/** `14:03:07.250`, or with the day in front where that is not today. */
export function formatMoment(ms: number, nowMs = Date.now()): string {
  const time = `${TIME.format(ms)}.${String(Math.floor(ms % 1_000)).padStart(3, '0')}`;
  return isSameDay(ms, nowMs) ? time : `${DAY.format(ms)} ${time}`;
}

/** `14:03:07`. */
export function formatTime(ms: number): string {
  return TIME.format(ms);
}

/** For a tick of an axis whose ticks are `stepMs` apart. */
export function formatTick(ms: number, stepMs: number): string {
  if (stepMs < 1_000)
    return `${TIME.format(ms)}.${String(Math.floor(ms % 1_000))
      .padStart(3, '0')
      .slice(0, stepMs < 10 ? 3 : stepMs < 100 ? 2 : 1)}`;
  if (stepMs < 60_000) return TIME.format(ms);
  const time = MINUTES.format(ms);
  return stepMs >= 86_400_000 || time === '00:00' ? DAY.format(ms) : time;
}

/** The zone of all times here, which is the browser's: `UTC`, `UTC+2`. */
export function formatZone(ms: number): string {
  const parts = ZONE.formatToParts(ms);
  const zone = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return zone.replace('GMT', 'UTC').replace(/\+0$/, '');
}

/** The day of a moment, in words. */
export function formatDay(ms: number): string {
  return DAY.format(ms);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `3d4h`, `5m12s`, `1.25s`, `340ms`: two units at most. */
export function formatSpan(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const rest = Math.max(0, ms);
  if (rest < 1_000) return `${rest < 10 ? Math.round(rest * 10) / 10 : Math.round(rest)}ms`;
  if (rest < 10_000) return `${Math.round(rest / 10) / 100}s`;
  const at = UNITS.findIndex(([, size]) => rest >= size);
  const [unit, size] = UNITS[at]!;
  const whole = Math.floor(rest / size);
  const next = UNITS[at + 1];
  const more = next === undefined ? 0 : Math.floor((rest - whole * size) / next[1]);
  return `${whole}${unit}${more > 0 ? `${more}${next![0]}` : ''}`;
}

/** How long ago that was, in the largest unit: `5m`. */
export function formatAge(text: string | undefined, nowMs: number): string {
  const ms = Date.parse(text ?? '');
  if (Number.isNaN(ms)) return '–';
  const span = Math.max(0, nowMs - ms);
  const [unit, size] = UNITS.find(([, each]) => span >= each * 2) ?? UNITS[3];
  return `${Math.floor(span / size)}${unit}`;
}

/** `12.3 MiB`. */
export function formatBytes(bytes: number | undefined): string {
  if (bytes === undefined || !Number.isFinite(bytes)) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, at] = [bytes, 0];
  while (value >= 1_024 && at < units.length - 1) [value, at] = [value / 1_024, at + 1];
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

function isSameDay(one: number, other: number): boolean {
  return new Date(one).toDateString() === new Date(other).toDateString();
}
