import { CRI_MESSAGES } from './cri-messages.js';

/** What becomes of a field; see {@link CRI_MESSAGES}. */
export type FieldClass =
  | 'text'
  | 'number'
  | 'numbers'
  | 'map'
  | 'message'
  | 'env'
  | 'secret'
  | 'annotations'
  | 'command'
  | 'output'
  | 'info';

/** A field of a message of CRI. */
export interface FieldSchema {
  readonly name: string;
  readonly number: number;
  readonly class: FieldClass;
  /** Of a field that is a message: its name. */
  readonly type?: string;
}

/** A message of CRI, by the numbers of its fields. */
export type MessageSchema = ReadonlyMap<number, FieldSchema>;

const FIELD = /^(\w+)=(\d+)(?:(##?)|:(\w+)|~(\w+))?$/;

/** Every message of CRI v1 by its name. */
export const MESSAGE_SCHEMAS: ReadonlyMap<string, MessageSchema> = new Map(
  Object.entries(CRI_MESSAGES).map(([name, fields]) => [name, parseFields(fields)]),
);

function parseFields(fields: string): MessageSchema {
  const words = fields.split(' ').filter((word) => word !== '');
  return new Map(words.map(parseField).map((field) => [field.number, field]));
}

function parseField(word: string): FieldSchema {
  const [, name, number, hashes, type, rule] = FIELD.exec(word) ?? [];
  if (name === undefined) throw new Error(`the table of messages has a field ${word}`);
  const field = { name, number: Number(number) };
  if (type !== undefined) return { ...field, class: 'message', type };
  if (hashes !== undefined) return { ...field, class: hashes === '#' ? 'number' : 'numbers' };
  return { ...field, class: (rule ?? 'text') as FieldClass };
}
