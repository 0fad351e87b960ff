import { isRecord } from './is-record.js';

/** The object that a JSON text is; undefined for anything else, JSON or not. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
