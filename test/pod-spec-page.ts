import { describeFieldType, type FieldFacts, type FieldType } from '#kube/fields/field-facts.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';

/** A field of v1 Pod, as the page of all fields has it. */
export interface PageRow {
  /** `spec.containers[].env[].name`. */
  readonly path: string;
  readonly type: string;
  readonly support: string;
  /** What else there is to say: required, the default, why not, what instead. */
  readonly remarks: string;
}

/** Where fields are told of a type that stands in several places; elsewhere, at the first of them. */
const PLACES: Readonly<Record<string, string>> = {
  Container: 'spec.containers[]',
  ObjectFieldSelector: 'spec.containers[].env[].valueFrom.fieldRef',
  ResourceFieldSelector: 'spec.containers[].env[].valueFrom.resourceFieldRef',
};
/** Types that have all fields of another one: only those are told that it does not have, or has otherwise. */
const BASES: Readonly<Record<string, string>> = { EphemeralContainer: 'Container' };
const SUPPORT = { supported: 'yes', planned: 'not yet', refused: '**refused**', ignored: 'ignored' } as const;

const SECTIONS: readonly { readonly title: string; readonly prefixes: readonly string[] }[] = [
  { title: 'The pod itself', prefixes: ['apiVersion', 'kind', 'metadata', 'status'] },
  { title: 'Volumes', prefixes: ['spec.volumes'] },
  { title: 'Containers', prefixes: ['spec.containers', 'spec.initContainers', 'spec.ephemeralContainers'] },
  {
    title: 'What only a scheduler reads',
    prefixes: ['spec.affinity', 'spec.tolerations', 'spec.topologySpreadConstraints'],
  },
];
const REST = 'The rest of the spec';

/** Every field of v1 Pod, each of them below the one that holds it. */
export function podSpecRows(): PageRow[] {
  const rows: PageRow[] = [];
  const told = new Map(Object.entries(PLACES));
  const walk = (type: string, parent: string): void => {
    const base = POD_TABLES[BASES[type] ?? ''];
    for (const [name, facts] of Object.entries(POD_TABLES[type]!)) {
      if (base?.[name] === facts) continue;
      const path = `${parent}${name}`;
      const inner = innerType((facts.inCluster ?? facts).type);
      const place = `${path}${inner.suffix}`;
      const known = inner.name === undefined ? undefined : told.get(inner.name);
      const isTold = known !== undefined && known !== place;
      const like = isTold ? known : PLACES[BASES[inner.name ?? ''] ?? ''];
      rows.push({
        ...{ path, type: describeFieldType(facts.type), support: SUPPORT[facts.support] },
        remarks: [remarksOf(facts, like), clusterRemark(facts)].filter((part) => part !== '').join('; '),
      });
      if (inner.name === undefined || isTold) continue;
      told.set(inner.name, place);
      walk(inner.name, `${place}.`);
    }
  };
  walk('Pod', '');
  return rows;
}

/** The tables of the page, below their headings, in Markdown. */
export function formatPodSpecTables(rows: readonly PageRow[] = podSpecRows()): string {
  const isOf = ({ path }: PageRow, prefix: string): boolean => new RegExp(`^${prefix}($|[.[])`).test(path);
  const sectionOf = (row: PageRow): string =>
    SECTIONS.find(({ prefixes }) => prefixes.some((prefix) => isOf(row, prefix)))?.title ?? REST;
  const counts = Object.values(SUPPORT)
    .map((word) => [word, rows.filter(({ support }) => support === word).length] as const)
    .filter(([, count]) => count > 0)
    .map(([word, count]) => `${word.replaceAll('*', '')}: ${count}`);
  const tables = [...SECTIONS.map(({ title }) => title), REST].map((title) => {
    const lines = rows.filter((row) => sectionOf(row) === title).map(formatRow);
    const head = '| Field | Type | Supported | Remarks |\n| --- | --- | --- | --- |';
    // Aligned columns would make ten times as much of it.
    const table = `<!-- prettier-ignore -->\n${head}\n${lines.join('\n')}`;
    return `## ${title}\n\n${table}`;
  });
  return [`${rows.length} fields; ${counts.join(', ')}.`, ...tables].join('\n\n');
}

function formatRow({ path, type, support, remarks }: PageRow): string {
  const cells = [`\`${path}\``, type, support, remarks].map((cell) => cell.replaceAll('|', '\\|'));
  return `| ${cells.join(' | ')} |`;
}

function remarksOf(facts: FieldFacts, elsewhere: string | undefined): string {
  const { required, note, only, otherwise } = facts;
  const remarks = [
    ...(required ? ['required'] : []),
    ...(facts.default === undefined ? [] : [`default \`${JSON.stringify(facts.default)}\``]),
    ...(only === undefined ? [] : [`only \`${only.map((value) => JSON.stringify(value)).join('`, `')}\``]),
    ...(only === undefined || otherwise === '' ? [] : [otherwise]),
    ...(note === '' ? [] : [note]),
    ...(elsewhere === undefined ? [] : [`fields as in \`${elsewhere}\``]),
  ];
  return remarks.join('; ').replaceAll('<', '&lt;');
}

/** What is done with the field of a pod of an API server, where that is something else. */
function clusterRemark({ inCluster }: FieldFacts): string {
  if (inCluster === undefined) return '';
  const { note, support } = inCluster;
  if (support === 'supported') return note === '' ? 'in a cluster: **yes**' : `in a cluster: ${note}`;
  return `in a cluster: ${SUPPORT[support]}, ${note}`;
}

/** The table that a type refers to, behind its lists and maps. */
function innerType(type: FieldType): { readonly name?: string; readonly suffix: string } {
  switch (type.kind) {
    case 'list':
    case 'map': {
      const { suffix, ...inner } = innerType(type.of);
      return { ...inner, suffix: `${type.kind === 'list' ? '[]' : '[key]'}${suffix}` };
    }
    case 'object':
      return { name: type.name, suffix: '' };
    default:
      return { suffix: '' };
  }
}
