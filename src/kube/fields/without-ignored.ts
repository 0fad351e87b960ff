import { type FieldTable, type FieldType } from './field-facts.js';

/** Removes the fields without effect from a value that was read with everything in it. Pure. */
export function withoutIgnored(
  value: unknown,
  type: FieldType,
  tables: Readonly<Record<string, FieldTable>>,
): unknown {
  if (type.kind === 'list' && Array.isArray(value)) {
    return value.map((item: unknown) => withoutIgnored(item, type.of, tables));
  }
  if (type.kind !== 'object' || typeof value !== 'object' || value === null) return value;
  const table = tables[type.name]!;
  const fields = Object.entries(value).filter(([name]) => table[name]?.support !== 'ignored');
  return Object.fromEntries(
    fields.map(([name, field]) => [name, withoutIgnored(field, table[name]!.type, tables)]),
  );
}
