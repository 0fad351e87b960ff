/** What stands where something was taken out. */
export const REDACTED = '[redacted]';

/**
 * What opens something to whoever has it, and came from elsewhere: registries send clients to addresses that are
 * signed, and repeat what they were asked with.
 */
const CREDENTIALS = [
  // Logins and parameters of addresses.
  /(?<=:\/\/)[^\s/@"'<>?#]+(?=@)/g,
  /(?<=[?&])[\w.~%+-]+=[^\s"'<>]*/g,
  /(?<=\b(?:bearer|basic)\s)[^\s"',]+/gi,
  /(?<=\b(?:password|passwd|token|secret|api_?key|signature)=)"?[^\s"',;&]+/gi,
  // JSON Web Tokens.
  /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g,
];

/** Where credentials are in a text, first and last character behind; they may overlap, in no order. */
export function findCredentials(text: string): [begin: number, end: number][] {
  return CREDENTIALS.flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ({ 0: found, index }): [number, number] => [
      index,
      index + found.length,
    ]),
  );
}

/** The same value, the credentials in its texts replaced, at any depth of arrays and plain objects. Keys stay. */
export function withoutCredentials<T>(value: T): T;
export function withoutCredentials(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item: unknown) => withoutCredentials(item));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, of]) => [name, withoutCredentials<unknown>(of)]),
  );
}

function redactText(text: string): string {
  // What is taken out first leaves nothing of itself that another pattern takes for a credential.
  return CREDENTIALS.reduce((left, pattern) => left.replaceAll(pattern, REDACTED), text);
}
