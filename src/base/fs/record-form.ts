import { isRecord } from '../text/is-record.js';

/** What a record looks like on disk: one JSON object that names the version of its form. */
export interface RecordForm<Value> {
  /** Goes up with each change that older readers would misread (default: 1). */
  readonly version?: number;
  /** Throws an Error that says what is wrong if the content is not a whole value. */
  readonly parse: (content: Readonly<Record<string, unknown>>) => Value;
  /** The content of a value (default: the value itself). */
  readonly format?: (value: Value) => object;
}

const FIRST_VERSION = 1;

/** The text of a record, on a line of its own. Pure. */
export function formatRecord<Value>(form: RecordForm<Value>, value: Value): string {
  const { version = FIRST_VERSION, format = (content: Value) => content as object } = form;
  return `${JSON.stringify({ version, ...format(value) })}\n`;
}

/**
 * Reads what {@link formatRecord} wrote. Throws an Error that says what is wrong and quotes nothing: a record
 * may contain Secrets. Pure.
 *
 * A record without a version is of version 1. Earlier agents called it `format` in some records.
 */
export function parseRecord<Value>(form: RecordForm<Value>, text: string): Value {
  const written = parseJson(text);
  if (!isRecord(written)) throw new Error('it is not what was written');
  const { version: expected = FIRST_VERSION } = form;
  const { version = written['format'] ?? FIRST_VERSION, ...content } = written;
  if (version !== expected) {
    throw new Error(`it is of version ${JSON.stringify(version)}, and not ${expected}`);
  }
  return form.parse(content);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The message of JSON.parse quotes the text.
    throw new Error('it is damaged');
  }
}
