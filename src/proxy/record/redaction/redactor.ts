import {
  encodeBytesField,
  MAP_ENTRY_FIELDS,
  type ProtobufField,
  readFields,
  readString,
  WireType,
} from '#base/wire/protobuf-fields.js';
import { SliceYielder } from '#base/async/slices.js';
import { REDACTED } from '#base/text/without-credentials.js';
import { type FieldClass, type FieldSchema, MESSAGE_SCHEMAS, type MessageSchema } from '../message-schema.js';
import { redactInfo } from './redact-info.js';
import { type RedactedItem, RedactedItems } from './redacted-items.js';
import { annotationFilter, type RedactionRules } from './redaction-rules.js';
import { type Secret, type SecretBook, toSecret } from './secret-book.js';

/** What passes between two turns of the event loop, in bytes: a few milliseconds of work. */
const BYTES_PER_SLICE = 64 * 1024;

const SECRETS_PER_SLICE = 200;

/** Smaller fields are read as fast as they are found again. */
const LEAST_ITEM_BYTES = 64;
/** Larger ones are not cached: to hash them takes as long. */
const MAX_ITEM_BYTES = 256 * 1024;
/** Where a list changes all the time, no whole one comes again, and its items do. */
const MAX_MESSAGES_BYTES = 4 * 2 ** 20;
const MAX_ITEMS_BYTES = 12 * 2 ** 20;
/** So much of a value is remembered, to be taken out of errors. */
const MAX_SECRET_BYTES = 64 * 1024;

/** What was left out since the start. */
export interface RedactionCounts {
  /** Values that were replaced. */
  readonly redacted: number;
  /** Fields that CRI v1 does not have, or not in that form. */
  readonly unknownFields: number;
}

/**
 * Takes out of messages of CRI what may be secret, by the table of fields, and what is not in that table.
 *
 * What comes out is in one order, fields by number and maps by name, so that the same question gives the same bytes
 * whoever asks it.
 */
export class Redactor {
  readonly #rules: RedactionRules;
  readonly #keepsAnnotation: (name: string) => boolean;
  readonly #secrets: SecretBook | undefined;
  readonly #messages = new RedactedItems(MAX_MESSAGES_BYTES);
  readonly #items = new RedactedItems(MAX_ITEMS_BYTES);
  #redacted = 0;
  #unknownFields = 0;
  /** What was taken out of the message that is being redacted. */
  #taken: Secret[] = [];

  /** `secrets` gets each text that is taken out. */
  constructor(rules: RedactionRules, secrets?: SecretBook) {
    this.#rules = rules;
    this.#keepsAnnotation = annotationFilter(rules.keepAnnotations);
    this.#secrets = secrets;
  }

  get counts(): RedactionCounts {
    return { redacted: this.#redacted, unknownFields: this.#unknownFields };
  }

  /** The message of that type without secrets. Rejects with RangeError when the bytes are no message. */
  async redact(type: string, message: Buffer): Promise<Buffer> {
    const key = await RedactedItems.keyOfMessage(type, message);
    const known = this.#messages.find(key);
    if (known?.bytes !== undefined) {
      this.#count(known);
      await this.#rememberAll(known.secrets);
      return known.bytes;
    }
    this.#taken = [];
    const before = this.counts;
    const schema = getSchema(type);
    const slices = new SliceYielder({ itemsPerSlice: BYTES_PER_SLICE });
    const fields: OutField[] = [];
    for (const field of readFields(message)) {
      const bytes = this.#redactItem(type, schema, field);
      if (bytes !== undefined) fields.push({ number: field.number, bytes });
      if (slices.isFull(field.whole.length)) await slices.nextSlice();
    }
    const bytes = joinInOrder(fields, schema);
    this.#messages.add(key, { bytes, ...this.#since(before), secrets: this.#taken });
    this.#taken = [];
    return bytes;
  }

  /** The same at once, for messages that are small: requests. */
  redactNow(type: string, message: Buffer): Buffer {
    this.#taken = [];
    return this.#redactMessage(getSchema(type), message);
  }

  /** The same as {@link #redactField}, for items of lists, which may come again as they are. */
  #redactItem(type: string, schema: MessageSchema, field: ProtobufField): Buffer | undefined {
    const { length } = field.whole;
    if (length < LEAST_ITEM_BYTES || length > MAX_ITEM_BYTES) return this.#redactField(schema, field);
    const key = RedactedItems.keyOf(`field of ${type}`, field.whole);
    const known = this.#items.find(key);
    if (known !== undefined) {
      this.#count(known);
      for (const secret of known.secrets) this.#remember(secret);
      return known.bytes;
    }
    const [before, takenBefore] = [this.counts, this.#taken.length];
    const bytes = this.#redactField(schema, field);
    this.#items.add(key, { bytes, ...this.#since(before), secrets: this.#taken.slice(takenBefore) });
    return bytes;
  }

  /** What was redacted before is counted again. */
  #count({ redacted, unknownFields }: RedactedItem): void {
    this.#redacted += redacted;
    this.#unknownFields += unknownFields;
  }

  /** What was taken out of a whole message is remembered again. */
  async #rememberAll(secrets: readonly Secret[]): Promise<void> {
    const slices = new SliceYielder({ itemsPerSlice: SECRETS_PER_SLICE });
    for (const secret of secrets) {
      this.#secrets?.add(secret);
      if (slices.isFull()) await slices.nextSlice();
    }
  }

  #since({ redacted, unknownFields }: RedactionCounts): RedactionCounts {
    return { redacted: this.#redacted - redacted, unknownFields: this.#unknownFields - unknownFields };
  }

  #redactMessage(schema: MessageSchema, message: Buffer): Buffer {
    const fields: OutField[] = [];
    for (const field of readFields(message)) {
      const bytes = this.#redactField(schema, field);
      if (bytes !== undefined) fields.push({ number: field.number, bytes });
    }
    return joinInOrder(fields, schema);
  }

  /** The whole field as it is to be written; undefined for one that is left out. */
  #redactField(schema: MessageSchema, field: ProtobufField): Buffer | undefined {
    const facts = schema.get(field.number);
    if (facts === undefined || !isOfClass(field, facts.class)) {
      this.#unknownFields++;
      return undefined;
    }
    switch (facts.class) {
      case 'text':
      case 'number':
      case 'numbers':
        return field.whole;
      case 'message':
        return encodeBytesField(field.number, this.#redactMessage(schemaOf(facts), field.bytes));
      case 'map':
        return this.#redactEntry(field, (_name, value) => value);
      case 'annotations':
        return this.#redactEntry(field, (name, value) =>
          this.#keepsAnnotation(name) ? value : this.#takeOut(value, true),
        );
      case 'info':
        return this.#redactEntry(field, (_name, value) => this.#redactInfo(value));
      case 'command':
        return this.#rules.keepCommands ? field.whole : this.#takeOutOf(field);
      case 'output':
        return this.#rules.keepOutput ? field.whole : this.#takeOutOf(field, true);
      case 'env':
      case 'secret':
        return this.#takeOutOf(field);
    }
  }

  #redactEntry(field: ProtobufField, change: (name: string, value: string) => string): Buffer {
    const name = readString(field.bytes, MAP_ENTRY_FIELDS.key);
    const value = readString(field.bytes, MAP_ENTRY_FIELDS.value);
    return encodeBytesField(
      field.number,
      Buffer.concat([
        encodeBytesField(MAP_ENTRY_FIELDS.key, Buffer.from(name)),
        encodeBytesField(MAP_ENTRY_FIELDS.value, Buffer.from(change(name, value))),
      ]),
    );
  }

  #redactInfo(value: string): string {
    const kept = redactInfo(value);
    if (kept !== value) this.#redacted++;
    return kept;
  }

  #takeOutOf({ number, bytes }: ProtobufField, isCommon = false): Buffer {
    const value = bytes.toString('utf8', 0, Math.min(bytes.length, MAX_SECRET_BYTES));
    return encodeBytesField(number, Buffer.from(this.#takeOut(value, isCommon)));
  }

  #takeOut(value: string, isCommon: boolean): string {
    if (value === '') return value;
    this.#redacted++;
    if (this.#secrets !== undefined) this.#remember(toSecret(value, isCommon));
    return REDACTED;
  }

  #remember(secret: Secret): void {
    this.#taken.push(secret);
    this.#secrets?.add(secret);
  }
}

interface OutField {
  readonly number: number;
  readonly bytes: Buffer;
}

/** Fields in the order of their numbers; entries of maps in the order of their bytes, others as they came. */
function joinInOrder(fields: OutField[], schema: MessageSchema): Buffer {
  fields.sort((one, other) => {
    if (one.number !== other.number) return one.number - other.number;
    return isMap(schema.get(one.number)!.class) ? one.bytes.compare(other.bytes) : 0;
  });
  return Buffer.concat(fields.map(({ bytes }) => bytes));
}

function isMap(fieldClass: FieldClass): boolean {
  return fieldClass === 'map' || fieldClass === 'annotations' || fieldClass === 'info';
}

/** Whether it is written as one of its class is: else it is something that is not known. */
function isOfClass({ wireType }: ProtobufField, fieldClass: FieldClass): boolean {
  if (fieldClass === 'number') return wireType !== WireType.BYTES;
  return fieldClass === 'numbers' || wireType === WireType.BYTES;
}

function schemaOf({ type }: FieldSchema): MessageSchema {
  return getSchema(type!);
}

function getSchema(type: string): MessageSchema {
  const schema = MESSAGE_SCHEMAS.get(type);
  if (schema === undefined) throw new Error(`no message of CRI v1 is called ${type}`);
  return schema;
}
