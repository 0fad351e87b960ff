/**
 * What a plain scalar means, by the YAML that Kubernetes reads: 1.1 as its parser (go-yaml) has it.
 *
 * `yes`, `on` and `n` are booleans, `0644` is octal, `1_000` a thousand, `~` is null. Dates stay text. What is in
 * quotes never comes here.
 */
export function resolvePlainScalar(text: string): string | number | boolean | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  // Nothing else that is no text begins otherwise.
  if (!/^[-+.0-9]/.test(text)) return text;
  const plain = text.replaceAll('_', '');
  const integer = INTEGER.exec(plain);
  if (integer !== null) return toInteger(integer);
  return DECIMAL.test(plain) ? Number(plain) : text;
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

const INTEGER = /^([-+]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|0o?([0-7]+)|(0|[1-9]\d*))$/;
const DECIMAL = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

function toInteger([, sign, hex, binary, octal, decimal]: RegExpExecArray): number {
  const size = Number(
    hex !== undefined
      ? `0x${hex}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : decimal,
  );
  return sign === '-' ? 0 - size : size;
}
