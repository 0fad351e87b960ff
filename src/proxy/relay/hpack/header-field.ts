/** One header field. Name and value are bytes, a character each (latin1). */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Its sender asks that nobody on the way puts it into a table. */
  readonly neverIndexed: boolean;
}

/** The value of the first field of that name, in lower case as HTTP/2 has them. */
export function findHeader(fields: readonly HeaderField[], name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value;
}
