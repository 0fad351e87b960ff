/** The sum of all parts; what one of them does not tell is unknown of the sum. */
export function sumIfKnown(parts: readonly (number | undefined)[]): number | undefined {
  let sum = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    sum += part;
  }
  return sum;
}
