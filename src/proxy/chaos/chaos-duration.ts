import { messageOf } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { type YamlValue } from '#base/text/yaml/yaml-value.js';

/** No longer than a timer of Node can be set, delay and jitter together. */
const MAX_MS = 250 * 3_600_000;

/** A duration such as `1m30s`, in milliseconds. */
export function readDuration(field: YamlValue, leastMs: number): number {
  const value = field.scalar();
  if (typeof value !== 'string' && value !== 0) {
    throw field.invalid(`must be a duration such as 500ms, 1s or 1m30s, not ${JSON.stringify(value)}`);
  }
  let ms: number;
  try {
    ms = parseGoDuration(String(value), '');
  } catch (error) {
    throw field.invalid(messageOf(error).replace(/^: /, ''));
  }
  if (ms < leastMs)
    throw field.invalid(leastMs === 0 ? 'must not be negative' : 'must be longer than nothing');
  if (ms > MAX_MS) throw field.invalid('must be at most 250h');
  return ms;
}
