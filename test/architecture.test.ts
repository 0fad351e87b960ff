/**
 * Holds the table "who may import whom" against the imports as they stand in src/, type-only ones included.
 *
 * The tests beside the code may import whatever they need.
 *
 * @module
 */
import { describe, expect, it } from 'vitest';
import { importsOf, listFiles, readText, type SourceImport } from './source-tree.js';

/** What an agent is made of: for those that put it together. */
const PARTS = [
  ...['model', 'cri', 'runtime', 'pleg', 'images', 'volumes', 'probes', 'config', 'status', 'workers'],
  ...['sync', 'gc', 'eviction', 'cluster', 'metrics', 'stats', 'journal', 'server', 'doctor'],
];

/**
 * For each folder of src/ (and `index`, the file): what it may import besides itself and `util`.
 *
 * `folder` allows all of a folder, `folder/file` that file alone (`folder/index`: its entry), `type folder/file` its
 * types alone, `folder/*` everything below a folder that is part of another.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  util: [],
  model: [],
  eviction: ['model'],
  cri: ['model'],
  runtime: ['model', 'cri'],
  pleg: ['runtime', 'model'],
  images: ['runtime', 'model'],
  volumes: ['runtime', 'model'],
  probes: ['runtime', 'model'],
  config: ['runtime', 'model'],
  status: ['runtime', 'model'],
  workers: ['model', 'type pleg/pod-cache', 'type runtime/runtime'],
  sync: ['workers', 'status', 'pleg', 'images', 'volumes', 'probes', 'config', 'runtime', 'model'],
  gc: ['runtime', 'model'],
  cluster: ['model'],
  metrics: [],
  journal: ['model'],
  stats: ['runtime', 'model'],
  server: ['model'],
  doctor: ['model'],
  agent: [...PARTS, 'embedded/index', 'chaos/index', 'record/index'],
  cli: ['agent', 'model', 'spdy', 'embedded/index', 'chaos/index', 'record/index'],
  index: ['agent', 'model', 'embedded/index', 'chaos/index', 'record/index'],
  relay: [],
  spdy: [],
  embedded: ['cri/generated/*', 'relay', 'spdy'],
  chaos: ['cri/generated/*', 'relay'],
  record: ['cri/generated/*', 'relay'],
  testing: [...PARTS, 'agent', 'cli', 'embedded', 'chaos', 'record', 'relay', 'spdy'],
  web: ['type server/index'],
};

/** Which folders may use which package; a package is named here once its reason stands in docs/dependencies.md. */
const MAY_USE_PACKAGE: Readonly<Record<string, readonly string[]>> = {
  '@bufbuild/protobuf': ['cri'],
  '@grpc/grpc-js': ['cri', 'embedded', 'chaos', 'record', 'relay', 'testing'],
  asn1js: ['util', 'server', 'testing'],
  'classic-level': ['journal'],
  commander: ['cli'],
  'find-my-way': ['server'],
  'kubernetes-types': ['cluster'],
  pkijs: ['util', 'server', 'cluster', 'testing'],
  'prom-client': ['metrics'],
  ws: ['cli', 'embedded', 'testing'],
  yaml: ['util', 'model', 'config', 'cli'],
};

/** Names that say nothing about what is inside. */
const EMPTY_NAMES = /^(utils?|helpers?|types|common|misc|shared)(\.test)?\.ts$/;
const LONGEST_FILE = 500;
const LONG_FILE = 350;

const sources = listFiles('src', '.ts').filter((file) => !file.endsWith('.test.ts'));
const handwritten = sources.filter((file) => !file.startsWith('cri/generated/'));
const imports = sources.flatMap((file) => importsOf(file));

describe('who may import whom', () => {
  it('is known of every folder of src', () => {
    const unknown = sources.map(folderOf).filter((folder) => !(folder in MAY_IMPORT));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it('is kept by every import', () => {
    const offences = imports.filter((each) => !each.isPackage && !isAllowed(each)).map(describeImport);
    expect(offences).toEqual([]);
  });

  it('is kept by every use of a package', () => {
    const offences = imports
      .filter((each) => each.isPackage && !each.to.startsWith('node:'))
      .filter(({ from, to }) => !(MAY_USE_PACKAGE[packageOf(to)] ?? []).includes(folderOf(from)))
      .map(describeImport);
    expect(offences).toEqual([]);
  });

  it('loads what joins a cluster only when it is asked for', () => {
    // Names marked as types one by one leave an import behind that loads the file: "import type" leaves none.
    const loading =
      /^(?:import|export) (?!type )[^;]*? from '[^']*\/cluster\/(?:certificates|client|node|objects|pods|watch)\//m;
    const outside = handwritten.filter((file) => !['cluster', 'testing'].includes(folderOf(file)));
    expect(outside.filter((file) => loading.test(readText(`src/${file}`)))).toEqual([]);
  });

  it('allows no circle of folders', () => {
    const folders = Object.keys(MAY_IMPORT);
    const edges = (folder: string): string[] =>
      (MAY_IMPORT[folder] ?? []).map((rule) => rule.replace(/^type /, '').split('/')[0]!);
    expect(findCircle(folders, edges)).toBeUndefined();
  });

  it('leaves no import that leads nowhere', () => {
    const known = new Set(sources);
    const lost = imports.filter(({ to, isPackage }) => !isPackage && !known.has(to)).map(describeImport);
    expect(lost).toEqual([]);
  });

  it('allows no circle of files, types included', () => {
    const targets = new Map<string, string[]>(sources.map((file) => [file, []]));
    for (const { from, to, isPackage } of imports) if (!isPackage) targets.get(from)!.push(to);
    expect(findCircle(sources, (file) => targets.get(file) ?? [])).toBeUndefined();
  });
});

describe('a source file', () => {
  it('has a name in kebab-case that says what is inside', () => {
    const badly = listFiles('src', '.ts').filter((file) => {
      const name = file.split('/').at(-1)!;
      return EMPTY_NAMES.test(name) || !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z-]+)*\.ts$/.test(name);
    });
    expect(badly).toEqual([]);
  });

  it(`has at most ${LONGEST_FILE} lines`, () => {
    const lengths = handwritten.map((file) => ({
      file,
      lines: readText(`src/${file}`).split('\n').length - 1,
    }));
    const long = lengths
      .filter(({ lines }) => lines > LONG_FILE)
      .map(({ file, lines }) => `${file}: ${lines}`);
    if (long.length > 0) console.warn(`more than ${LONG_FILE} lines, perhaps two ideas: ${long.join(', ')}`);
    expect(lengths.filter(({ lines }) => lines > LONGEST_FILE)).toEqual([]);
  });

  it('exports no default', () => {
    expect(handwritten.filter((file) => /^export default /m.test(readText(`src/${file}`)))).toEqual([]);
  });

  it('reads the environment of the process only in cli', () => {
    const readers = handwritten.filter((file) => /\bprocess\.env\b/.test(readText(`src/${file}`)));
    expect(readers.filter((file) => !['cli', 'testing'].includes(folderOf(file)))).toEqual([]);
  });

  it('outside of testing needs nothing of testing', () => {
    const users = imports.filter(
      ({ from, to }) => folderOf(to) === 'testing' && folderOf(from) !== 'testing',
    );
    expect(users.map(describeImport)).toEqual([]);
  });

  it('that is the entry of a subpath says in an @module block what it is for', () => {
    const entries = handwritten.filter((file) => /^(\w+\/)?index\.ts$/.test(file));
    expect(entries.filter((file) => !/^\/\*\*[^]*?@module[^]*?\*\//.test(readText(`src/${file}`)))).toEqual(
      [],
    );
  });
});

/** `cri/client.ts` is in `cri`; a file right below src is its own folder. */
function folderOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : file.replace(/\.ts$/, '');
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function isAllowed({ from, to, typeOnly }: SourceImport): boolean {
  const [own, other] = [folderOf(from), folderOf(to)];
  if (own === other || other === 'util') return true;
  return (MAY_IMPORT[own] ?? []).some((rule) => {
    const target = rule.replace(/^type /, '');
    if (rule.startsWith('type ') && !typeOnly) return false;
    if (target.endsWith('/*')) return to.startsWith(target.slice(0, -1));
    return target === other || `${target}.ts` === to;
  });
}

function describeImport({ from, to, typeOnly }: SourceImport): string {
  return `${from} imports ${to}${typeOnly ? ' (types)' : ''}`;
}

/** The first circle found, as a path that ends where it began. */
function findCircle(
  nodes: readonly string[],
  edges: (node: string) => readonly string[],
): string[] | undefined {
  const done = new Set<string>();
  const search = (node: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of edges(node)) {
      const circle = search(next, [...path, node]);
      if (circle) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of nodes) {
    const circle = search(node, []);
    if (circle) return circle;
  }
  return undefined;
}
