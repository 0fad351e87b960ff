import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FieldFacts, type FieldType } from '../fields/field-facts.js';
import { type SupportRule } from '../fields/decode-object.js';
import { formatFieldPath, toPlainPath } from '../fields/field-path.js';
import { type Pod } from './pod.js';
import { POD_TABLES } from './pod-fields.js';
import { applyPodDefaults } from './pod-defaults.js';
import { PLANNED_FIELDS, readPod, SUPPORTED_FIELDS } from './read-pod.js';

const RUNS = 200;

/** Values of a type, mostly well-formed: words that satisfy the rules, and some that do not. */
function valuesOf(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'string':
      return fc.constantFrom(
        'a',
        'web',
        'nginx:1',
        '/x',
        'metadata.name',
        'limits.cpu',
        '10.0.0.1',
        'v1',
        'Pod',
        '',
      );
    case 'boolean':
      return fc.boolean();
    case 'int32':
    case 'int64':
      return fc.constantFrom(0, 1, 80, 443, 3000);
    case 'quantity':
      return fc.constantFrom('1', '500m', '1.5Gi', 2, 0.25);
    case 'intOrString':
      return fc.constantFrom<unknown>(80, 'http');
    case 'enum':
      return fc.constantFrom(...type.words);
    case 'any':
      return fc.constant({});
    case 'list':
      return fc.array(valuesOf(type.of, depth), { maxLength: 2 });
    case 'map':
      return fc.dictionary(fc.constantFrom('a', 'cpu', 'memory', 'example.org/x'), valuesOf(type.of, depth), {
        maxKeys: 2,
      });
    case 'object':
      return objectsOf(type.name, depth + 1);
  }
}

function objectsOf(name: string, depth = 0): fc.Arbitrary<unknown> {
  const fields = Object.entries(POD_TABLES[name]!).filter(([, { support }]) => support !== 'refused');
  return fc
    .tuple(
      ...fields.map(([field, facts]) => {
        if (field === 'apiVersion') return fc.constant([field, 'v1']);
        if (field === 'kind') return fc.constant([field, 'Pod']);
        const value = valuesOf(facts.type, depth).map((item) => [field, item]);
        if (facts.required) return value;
        return fc.option(value, { freq: depth > 4 ? 20 : 2, nil: [field, undefined] });
      }),
    )
    .map((entries) => Object.fromEntries(entries as [string, unknown][]));
}

/** Every field of the tables, with the first path that leads to it. */
function everyField(): { path: (string | number)[]; facts: FieldFacts }[] {
  const found: { path: (string | number)[]; facts: FieldFacts }[] = [];
  const visit = (type: FieldType, path: (string | number)[], seen: readonly string[]): void => {
    if (type.kind === 'list') visit(type.of, [...path, 0], seen);
    if (type.kind !== 'object' || seen.includes(type.name)) return;
    for (const [name, facts] of Object.entries(POD_TABLES[type.name]!)) {
      found.push({ path: [...path, name], facts });
      visit(facts.type, [...path, name], [...seen, type.name]);
    }
  };
  visit({ kind: 'object', name: 'Pod' }, [], []);
  return found;
}

/** An object with only this field. */
function only(path: readonly (string | number)[], value: unknown): unknown {
  return path.reduceRight<unknown>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  );
}

type Box = Record<string | number, unknown>;

/** Removes problems from an object until it is valid; undefined if that fails. */
function repair(broken: unknown, rule: SupportRule): Pod | undefined {
  const value = structuredClone(broken) as Box;
  for (let round = 0; round < 30; round++) {
    const { pod, problems } = readPod(value, rule);
    if (pod !== undefined) return pod;
    for (const { kind, path } of problems) {
      // An object that lacks a required field is removed as a whole, except for the pod.
      const steps = toPlainPath(path).slice(0, kind === 'required' ? -1 : undefined);
      if (steps.length > 1) remove(value, steps);
    }
    value['metadata'] = { ...(value['metadata'] as object), name: 'web' };
    value['spec'] ??= {};
    const spec = value['spec'] as Box;
    if (((spec['containers'] ?? []) as unknown[]).length === 0)
      spec['containers'] = [{ name: 'a', image: 'b' }];
  }
  return undefined;
}

function remove(value: Box, steps: readonly (string | number)[]): void {
  const last = steps.at(-1)!;
  let box: unknown = value;
  for (const step of steps.slice(0, -1)) box = (box as Box | undefined)?.[step];
  if (Array.isArray(box)) box.splice(last as number, 1);
  else if (box !== undefined) Reflect.deleteProperty(box as Box, last);
}

describe('any pod', () => {
  it.each([
    ['supported', SUPPORTED_FIELDS],
    ['planned', PLANNED_FIELDS],
  ])('that is valid survives printing and reading, with defaults or without (%s fields)', (_, rule) => {
    let accepted = 0;
    fc.assert(
      fc.property(objectsOf('Pod'), (value) => {
        const pod = repair(value, rule);
        if (pod === undefined) return;
        accepted++;
        expect(readPod(JSON.parse(JSON.stringify(pod)), rule).pod).toEqual(pod);
        const full = applyPodDefaults(pod, rule);
        expect(readPod(JSON.parse(JSON.stringify(full)), rule)).toMatchObject({ pod: full, problems: [] });
        expect(applyPodDefaults(full, rule)).toEqual(full);
      }),
      { numRuns: RUNS },
    );
    expect(accepted).toBeGreaterThan(RUNS / 2);
  });

  it('or anything else is read without throwing, and every problem has a message', () => {
    const anything = fc.oneof(fc.anything(), fc.jsonValue(), objectsOf('Pod'));
    fc.assert(
      fc.property(anything, fc.constantFrom(SUPPORTED_FIELDS, PLANNED_FIELDS), (value, rule) => {
        for (const { path, message } of readPod(value, rule).problems) {
          expect(message).not.toBe('');
          expect(formatFieldPath(path)).not.toContain('undefined');
        }
      }),
    );
  });
});

describe('every field of v1 Pod', () => {
  const fields = everyField();

  it('has a known type', () => {
    expect(fields.length).toBeGreaterThan(300);
    for (const table of Object.values(POD_TABLES)) {
      for (const { type } of Object.values(table)) {
        const inner = type.kind === 'list' || type.kind === 'map' ? type.of : type;
        if (inner.kind === 'object') expect(Object.keys(POD_TABLES)).toContain(inner.name);
      }
    }
  });

  it('that is refused or ignored has a reason', () => {
    const silent = fields.filter(
      ({ facts: { support, note } }) => (support === 'refused' || support === 'ignored') && note.length < 10,
    );
    expect(silent.map(({ path }) => formatFieldPath(path))).toEqual([]);
  });

  it('that is refused, or not supported yet, is named in the error', () => {
    for (const { path, facts } of fields) {
      if (facts.support !== 'refused' && facts.support !== 'planned') continue;
      const named = readPod(only(path, ['x'])).problems.filter(({ kind }) => kind === 'refused');
      expect(named).toHaveLength(1);
      // If an enclosing field is not supported yet either, that one is named.
      const place = formatFieldPath(named[0]!.path);
      expect(formatFieldPath(path).startsWith(place)).toBe(true);
      if (facts.support === 'refused') {
        const refused = readPod(only(path, ['x']), PLANNED_FIELDS).problems.filter(
          ({ kind }) => kind === 'refused',
        );
        expect(refused.map((problem) => formatFieldPath(problem.path))).toEqual([formatFieldPath(path)]);
        expect(refused[0]!.message).toBe(`not supported; ${facts.note}`);
      }
    }
  });
});
