/** The notation of a {@link Quantity}: `1Gi`, `1G`, `1e9`. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/**
 * An exact amount, as in Kubernetes' resource.Quantity.
 *
 * `nanos` is the amount in units of 10⁻⁹, at most {@link MAX_NANOS} in either direction. `format` only
 * decides how it is written.
 */
export interface Quantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const NANOS = 1_000_000_000n;
/** Kubernetes caps an amount at the largest int64. */
const MAX_NANOS = (2n ** 63n - 1n) * NANOS;
/** A longer number is a mistake or an attack, as the cap has 19 digits. */
const MAX_TEXT_LENGTH = 256;
/** Beyond this every amount but 0 is over the cap, or below a billionth. */
const LARGEST_EXPONENT = 400;

const DECIMAL_SUFFIXES = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

const SYNTAX = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:([numkMGTPE])|([KMGTPE]i)|[eE]([+-]?\d+))?$/;

/**
 * Parses a quantity: `500m`, `1.5Gi`, `2`, `1e3`. Undefined if the text is not a quantity.
 *
 * As in Kubernetes, anything finer than a billionth is rounded away from zero, and anything larger than an
 * int64 is capped.
 */
export function findQuantity(text: string): Quantity | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const match = SYNTAX.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', bareFraction = '', decimal, binary, exponent] = match;
  const digits = fraction + bareFraction;
  const mantissa = BigInt(whole + digits);
  // Amount = mantissa × 10^scale × 1024^power.
  let scale = 9 - digits.length;
  let power = 0;
  if (decimal !== undefined) scale += 3 * (DECIMAL_SUFFIXES.indexOf(decimal as 'n') - 3);
  if (binary !== undefined) power = BINARY_SUFFIXES.indexOf(binary as 'Ki');
  if (exponent !== undefined)
    scale += Math.max(-LARGEST_EXPONENT, Math.min(Number(exponent), LARGEST_EXPONENT));
  const amount = mantissa * 1024n ** BigInt(power);
  const nanos = scale >= 0 ? amount * 10n ** BigInt(scale) : divideUp(amount, 10n ** BigInt(-scale));
  const capped = nanos > MAX_NANOS ? MAX_NANOS : nanos;
  const format =
    binary === undefined ? (exponent === undefined ? 'DecimalSI' : 'DecimalExponent') : 'BinarySI';
  return { nanos: sign === '-' ? -capped : capped, format };
}

/** Parses a quantity that was validated before; throws RangeError if it is not one. */
export function getQuantity(text: string): Quantity {
  const quantity = findQuantity(text);
  if (quantity === undefined) throw new RangeError(`${JSON.stringify(text)} is no quantity`);
  return quantity;
}

/**
 * The canonical form: without a fraction and with the largest suffix that loses nothing.
 *
 * `1.5Gi` is `1536Mi`, `0.5` is `500m`, `1000k` is `1M`. Below 1024, or where bytes would be split, binary
 * amounts are written as decimal ones, as Kubernetes does.
 */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const isWhole = nanos % NANOS === 0n;
  const size = nanos < 0n ? -nanos : nanos;
  if (format === 'BinarySI' && isWhole && size >= 1024n * NANOS) {
    const [number, power] = withoutFactors(nanos / NANOS, 1024n, BINARY_SUFFIXES.length - 1);
    return `${number}${BINARY_SUFFIXES[power]!}`;
  }
  const [number, power] = withoutFactors(nanos, 1000n, DECIMAL_SUFFIXES.length - 1);
  if (format === 'DecimalExponent') return power === 3 ? String(number) : `${number}e${3 * power - 9}`;
  return `${number}${DECIMAL_SUFFIXES[power]!}`;
}

/** Formats a number of bytes canonically: `100Mi`; a number without a suitable suffix stays as it is. */
export function formatBytes(bytes: bigint): string {
  return formatQuantity({ nanos: bytes * NANOS, format: 'BinarySI' });
}

/** Negative, 0 or positive, as `one` is less than, equal to or greater than `other`. */
export function compareQuantities(one: Quantity, other: Quantity): -1 | 0 | 1 {
  if (one.nanos === other.nanos) return 0;
  return one.nanos < other.nanos ? -1 : 1;
}

/** The amount in whole units (bytes, pieces), rounded away from zero like Kubernetes' Value(). */
export function toWholeUnits(quantity: Quantity): bigint {
  return divideUp(quantity.nanos, NANOS);
}

/** The same for a text; 0n if it is not a quantity. */
export function wholeUnitsOf(text: string): bigint {
  const quantity = findQuantity(text);
  return quantity === undefined ? 0n : toWholeUnits(quantity);
}

/** The amount in thousandths (millicores of cpu), rounded away from zero like Kubernetes' MilliValue(). */
export function toMilliUnits(quantity: Quantity): bigint {
  return divideUp(quantity.nanos, NANOS / 1000n);
}

/** The amount as a double, which is exact up to 53 bits: for people and for shares. */
export function toNumber({ nanos }: Quantity): number {
  return Number(nanos / NANOS) + Number(nanos % NANOS) / 1e9;
}

/** The sum of two amounts, in the format of the first. */
export function addQuantities(one: Quantity, other: Quantity): Quantity {
  const sum = one.nanos + other.nanos;
  const capped = sum > MAX_NANOS ? MAX_NANOS : sum < -MAX_NANOS ? -MAX_NANOS : sum;
  return { nanos: capped, format: one.nanos === 0n ? other.format : one.format };
}

function divideUp(amount: bigint, by: bigint): bigint {
  const quotient = amount / by;
  if (amount % by === 0n) return quotient;
  return amount < 0n ? quotient - 1n : quotient + 1n;
}

function withoutFactors(amount: bigint, factor: bigint, most: number): [bigint, number] {
  let power = 0;
  let number = amount;
  while (power < most && number % factor === 0n) {
    number /= factor;
    power++;
  }
  return [number, power];
}
