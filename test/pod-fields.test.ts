/**
 * The tables of src/kube against the fields that v1 Pod has in the release of Kubernetes that podloop follows.
 *
 * @module
 */
import { expect, it } from 'vitest';
import { type FieldFacts, type FieldType } from '#kube/fields/field-facts.js';
import { CLUSTER_POD_TABLES, POD_TABLES } from '#kube/pod/pod-fields.js';
import { readText } from './source-tree.js';

type Fields = ReadonlyMap<string, string>;

/** Fields of each type in Kubernetes, with the types of their values. */
const TYPES: ReadonlyMap<string, Fields> = (() => {
  const types = new Map<string, Map<string, string>>();
  for (const line of readText('test/pod-fields.tsv').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [type = '', name = '', value = ''] = line.split('\t');
    types.set(type, (types.get(type) ?? new Map<string, string>()).set(name, value));
  }
  return types;
})();

/** Types of Go that stand in YAML as something simpler. */
const PLAIN: Readonly<Record<string, string>> = {
  Time: 'string',
  Quantity: 'quantity',
  IntOrString: 'intOrString',
};

const innerOf = (value: string): string => value.replace(/^(\[\]|map )+/, '');

/** As the list writes it, for all but objects, whose types podloop may name otherwise. */
function writtenType(type: FieldType): string | undefined {
  switch (type.kind) {
    case 'any':
    case 'object':
      return undefined;
    case 'enum':
      return 'string';
    case 'list':
    case 'map': {
      const inner = writtenType(type.of);
      return inner && `${type.kind === 'list' ? '[]' : 'map '}${inner}`;
    }
    default:
      return type.kind;
  }
}

function tableOf(type: FieldType): string | undefined {
  if ('name' in type) return type.name;
  return 'of' in type ? tableOf(type.of) : undefined;
}

/** Goes down both sides at once; calls back for each type that stands on both. */
function compare(
  tables: typeof POD_TABLES,
  visit: (path: string, fields: Fields, table: Readonly<Record<string, FieldFacts>>) => void,
): void {
  const seen = new Set<string>();
  const walk = (kubernetes: string, own: string, path: string): void => {
    const [fields, table] = [TYPES.get(kubernetes), tables[own]];
    if (fields === undefined || table === undefined || seen.has(`${kubernetes} ${own}`)) return;
    seen.add(`${kubernetes} ${own}`);
    visit(path, fields, table);
    for (const [name, value] of fields) {
      const inner = table[name] && tableOf(table[name].type);
      if (inner !== undefined) walk(innerOf(value), inner, `${path}.${name}`);
    }
  };
  walk('Pod', 'Pod', 'pod');
  expect(seen.size).toBeGreaterThan(50);
}

it.each([
  ['a manifest', POD_TABLES],
  ['a pod of an API server', CLUSTER_POD_TABLES],
])('every field of v1 Pod is known in %s, and there is no other', (_where, tables) => {
  const unknown: string[] = [];
  const invented: string[] = [];
  compare(tables, (path, fields, table) => {
    unknown.push(...[...fields.keys()].filter((name) => !(name in table)).map((name) => `${path}.${name}`));
    invented.push(
      ...Object.keys(table)
        .filter((name) => !fields.has(name))
        .map((name) => `${path}.${name}`),
    );
  });
  expect({ unknown, invented }).toEqual({ unknown: [], invented: [] });
});

it('every value has the type that it has in Kubernetes', () => {
  const others: string[] = [];
  compare(POD_TABLES, (path, fields, table) => {
    for (const [name, value] of fields) {
      const written = table[name] && writtenType(table[name].type);
      const plain = value.replace(/\w+$/, (type) => PLAIN[type] ?? type);
      if (written !== undefined && written !== plain && !written.endsWith('any')) {
        others.push(`${path}.${name}: ${written}, not ${plain}`);
      }
    }
  });
  expect(others).toEqual([]);
});
