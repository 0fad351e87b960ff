import { type SupportRule } from './decode-object.js';
import { type FieldTable, type FieldType } from './field-facts.js';

/** Fills in the constant defaults of the tables where a field is missing. Pure and idempotent. */
export function withTableDefaults(
  value: unknown,
  type: FieldType,
  tables: Readonly<Record<string, FieldTable>>,
  isSupported: SupportRule = () => true,
): unknown {
  if (type.kind === 'list') {
    return (value as unknown[]).map((item) => withTableDefaults(item, type.of, tables, isSupported));
  }
  if (type.kind !== 'object') return value;
  const own = value as Record<string, unknown>;
  const fields: [string, unknown][] = Object.entries(tables[type.name]!).map(([name, facts]) => {
    if (own[name] !== undefined) return [name, withTableDefaults(own[name], facts.type, tables, isSupported)];
    const isDefaulted = facts.support !== 'ignored' && isSupported(type.name, name, facts);
    return [name, isDefaulted ? facts.default : undefined];
  });
  // Fields that the tables do not know (the node's name) stay.
  return { ...own, ...Object.fromEntries(fields.filter(([, field]) => field !== undefined)) };
}
