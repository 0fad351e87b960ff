const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A moment as `kubectl describe` has it, in the time of this machine: `Sun, 22 Nov 2026 01:02:03 +0000`. */
export function formatRfc1123(timestamp: string | null | undefined): string {
  const then = new Date(timestamp ?? '');
  // What kubectl prints of a time that is missing.
  if (Number.isNaN(then.getTime())) return 'Mon, 01 Jan 0001 00:00:00 +0000';
  const two = (number: number): string => String(number).padStart(2, '0');
  const date = `${two(then.getDate())} ${MONTHS[then.getMonth()]!} ${then.getFullYear()}`;
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map((part) => two(part)).join(':');
  const offset = -then.getTimezoneOffset();
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  return `${DAYS[then.getDay()]!}, ${date} ${time} ${zone}`;
}
