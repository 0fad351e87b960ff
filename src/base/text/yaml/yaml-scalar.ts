/**
 * The meaning of a plain scalar in Kubernetes' YAML: 1.1 as implemented by its parser (go-yaml).
 *
 * `yes`, `on` and `n` are booleans, `0644` is octal, `1_000` a thousand, `~` is null. Dates stay text, and so
 * does a number that is too large: `9e1234` is the hash of a commit. Quoted text is never passed here.
 */
export function resolvePlainScalar(text: string): string | number | boolean | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  // Everything else that is not text begins with one of these.
  if (!/^[-+.0-9]/.test(text)) return text;
  // Numbers may contain underscores, unless they begin with a dot.
  const plain = /^\.(?!\d+[eE])/.test(text) ? text : text.replaceAll('_', '');
  const integer = INTEGER.exec(plain);
  const whole = integer === null ? undefined : toInteger(integer);
  if (whole !== undefined) return whole;
  if (!DECIMAL.test(plain)) return text;
  const number = Number(plain);
  return Number.isFinite(number) ? number : text;
}

const WORDS: ReadonlyMap<string, number | boolean | null> = new Map<string, number | boolean | null>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, false] as const,
  ),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, NaN] as const),
  ...['', '+'].flatMap((sign) =>
    ['.inf', '.Inf', '.INF'].map((word) => [`${sign}${word}`, Infinity] as const),
  ),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, -Infinity] as const),
]);

const INTEGER = /^([-+]?)(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/;
const DECIMAL = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const LEAST_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/** Undefined beyond 64 bits: the value is a floating-point number then, or text. */
function toInteger([, sign, hex, binary, octal, decimal]: RegExpExecArray): number | undefined {
  const size = BigInt(hex ?? binary ?? (octal === undefined ? decimal! : `0o${octal}`));
  const value = sign === '-' ? -size : size;
  return value < LEAST_INT64 || value > MAX_UINT64 ? undefined : Number(value);
}
