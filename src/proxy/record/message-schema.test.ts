import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FieldSchema, MESSAGE_SCHEMAS } from './message-schema.js';
import { RECORDED_METHODS } from './recorded-method.js';

const proto = readFileSync(new URL('../../../proto/runtime/v1/cri.proto', import.meta.url), 'utf8');
const enums = new Set([...proto.matchAll(/enum (\w+) \{/g)].map(([, name]) => name!));
/** Messages as they are generated from: by name, each field by its number. */
const messages = new Map(
  [...proto.replaceAll(/^ {2}enum \w+ \{[^}]*\}\n/gm, '').matchAll(/^message (\w+) \{([^}]*)\}/gm)].map(
    ([, name, body]) => [name!, parseFields(body!)],
  ),
);

interface ProtoField {
  readonly name: string;
  readonly type: string;
  readonly isRepeated: boolean;
}

function parseFields(body: string): Map<number, ProtoField> {
  const fields = body.matchAll(/^\s*(repeated )?(map<string, string>|\w+) (\w+) = (\d+)/gm);
  return new Map(
    [...fields].map(([, repeated, type, name, number]) => [
      Number(number),
      { name: name!, type: type!, isRepeated: repeated !== undefined },
    ]),
  );
}

/** The classes that a field of that type can have. */
function classesFor({ type, isRepeated }: ProtoField): readonly FieldSchema['class'][] {
  if (type.startsWith('map')) return ['map', 'annotations', 'info'];
  if (type === 'string' || type === 'bytes') return ['text', 'env', 'secret', 'command', 'output'];
  const isNumber = enums.has(type) || /^(u?int(32|64)|bool|double)$/.test(type);
  return isNumber ? [isRepeated ? 'numbers' : 'number'] : ['message'];
}

describe('the table of messages', () => {
  it('has every message of CRI v1 and no other', () => {
    expect(messages.size).toBeGreaterThan(150);
    expect([...MESSAGE_SCHEMAS.keys()].sort()).toEqual([...messages.keys()].sort());
  });

  it.each([...messages])('classifies every field of %s, as a field of that type can be', (name, fields) => {
    const schema = MESSAGE_SCHEMAS.get(name)!;
    expect([...schema.keys()].sort((a, b) => a - b)).toEqual([...fields.keys()].sort((a, b) => a - b));
    for (const [number, field] of fields) {
      const facts = schema.get(number)!;
      expect(facts.name).toBe(field.name);
      expect(classesFor(field), `${name}.${field.name}`).toContain(facts.class);
      if (facts.class === 'message') expect(facts.type).toBe(field.type);
    }
  });

  it('keeps nothing that is called after a secret', () => {
    const kept = [...MESSAGE_SCHEMAS].flatMap(([message, schema]) =>
      [...schema.values()]
        .filter((field) => ['text', 'map'].includes(field.class))
        .map(({ name }) => `${message}.${name}`),
    );
    const suspicious =
      /auth|password|token|secret|cred|env|annotation|info\b|url|cmd|command|args|stdout|stderr/i;
    expect(kept.filter((name) => suspicious.test(name.split('.')[1]!))).toEqual([]);
  });

  it('has the messages of every method', () => {
    expect(RECORDED_METHODS.size).toBe(41);
    for (const { name, requestType, responseType } of RECORDED_METHODS.values())
      for (const type of [requestType, responseType])
        expect(messages.has(type), `${name}: ${type}`).toBe(true);
  });
});
