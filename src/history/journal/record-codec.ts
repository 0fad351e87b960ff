import { crc32 } from 'node:zlib';
import { type JournalRecord } from './journal-record.js';

/** Longer texts are cut: a runtime's error may be megabytes long, and the history is bounded. */
const MAX_TEXT_LENGTH = 4_096;
const SUM_LENGTH = 8;

/** Encodes a record for the disk: a checksum over key and content, then JSON. */
export function encodeRecord(key: string, record: JournalRecord): string {
  const json = JSON.stringify(record, toPlain);
  return `${checksum(key, json)}${json}`;
}

/** Decodes a record; undefined if it is not what was written under this key. */
export function decodeRecord(key: string, text: string): JournalRecord | undefined {
  const json = text.slice(SUM_LENGTH);
  if (text.slice(0, SUM_LENGTH) !== checksum(key, json)) return undefined;
  try {
    return JSON.parse(json) as JournalRecord;
  } catch {
    return undefined;
  }
}

function checksum(key: string, json: string): string {
  return crc32(key + json)
    .toString(16)
    .padStart(SUM_LENGTH, '0');
}

/** JSON has no 64-bit numbers. */
function toPlain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH) return value;
  return `${value.slice(0, MAX_TEXT_LENGTH)}…`;
}
