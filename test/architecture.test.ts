/**
 * Holds the table "who may import whom" against the imports as they stand in src/, type-only ones included.
 *
 * The tests beside the code may import whatever they need.
 *
 * @module
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSource, listSubpaths } from './installed-package.js';
import { importsOf, listFiles, readText, type SourceImport } from './source-tree.js';

/** What an agent is made of: for those that put it together. */
const PARTS = [
  ...['kube', 'watch/cri', 'watch/observed', 'watch/pleg', 'watch/report', 'history', 'doctor', 'cluster'],
  ...[
    'node/runtime',
    'node/images',
    'node/volumes',
    'node/probes',
    'node/status',
    'node/workloads',
    'node/desired',
    'node/pods',
  ],
  ...[
    'node/pods/workers',
    'node/resources/eviction',
    'node/resources/gc',
    'node/resources/stats',
    'node/api',
    'node/services',
  ],
  ...['node/telemetry/metrics', 'node/telemetry/registry'],
];

/**
 * For each room of src/ (and `index`, the file): what it may import besides itself and `base`. A file is in the room
 * with the longest name above it; what is in none of those below `node` puts an agent together.
 *
 * `room` allows all of a room, `folder/file` that file alone (`folder/index`: its entry), `type folder/file` its
 * types alone, `folder/*` everything below a folder that is part of another.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  kube: [],
  'watch/cri': ['kube'],
  'watch/observed': ['kube', 'watch/cri'],
  'watch/pleg': ['kube', 'watch/observed'],
  'watch/report': ['kube', 'watch/cri', 'watch/pleg'],
  history: ['kube', 'type watch/pleg/index', 'type watch/pleg/pod-lifecycle-event'],
  doctor: ['kube'],
  cluster: ['kube'],
  'node/runtime': ['kube', 'watch/cri', 'watch/observed'],
  'node/images': ['kube', 'watch/observed', 'node/runtime'],
  'node/volumes': ['kube', 'watch/observed', 'node/runtime'],
  'node/probes': ['kube', 'watch/observed', 'node/runtime'],
  'node/status': ['kube', 'watch/observed', 'node/runtime'],
  'node/workloads': ['kube'],
  'node/desired': ['kube', 'node/workloads', 'watch/observed', 'node/runtime'],
  'node/resources/eviction': ['kube'],
  'node/resources/gc': ['kube', 'watch/observed', 'node/runtime'],
  'node/resources/stats': ['kube', 'watch/observed', 'node/runtime'],
  'node/pods/workers': ['kube', 'type watch/pleg/pod-cache', 'type watch/observed/runtime'],
  'node/pods': [
    ...['kube', 'watch/observed', 'watch/pleg', 'node/runtime', 'node/images', 'node/volumes', 'node/probes'],
    ...['node/status', 'node/desired', 'node/pods/workers'],
  ],
  'node/api': ['kube'],
  'node/services': ['kube'],
  'node/telemetry/registry': [],
  'node/telemetry/metrics': ['node/telemetry/registry'],
  node: [...PARTS, 'box/index', 'proxy/chaos/index', 'proxy/record/index'],
  'proxy/relay': [],
  'proxy/chaos': ['watch/cri/generated/*', 'proxy/relay'],
  'proxy/record': ['watch/cri/generated/*', 'proxy/relay'],
  'proxy/reading': ['watch/cri/generated/*'],
  box: ['watch/cri/generated/*'],
  observe: [...PARTS, 'node', 'proxy/record/index'],
  cli: [
    ...['kube', 'watch/report', 'node', 'observe', 'box/index', 'proxy/chaos/index', 'proxy/record/index'],
    'proxy/reading/index',
  ],
  // Doors: each has what others need of its area.
  watch: ['watch/cri', 'watch/observed', 'watch/pleg', 'watch/report'],
  index: ['kube', 'node', 'box/index', 'proxy/chaos/index', 'proxy/record/index'],
  testing: [...PARTS, 'node', 'observe', 'cli', 'box', 'proxy/relay', 'proxy/chaos', 'proxy/record'],
  // The page runs in a browser: it has nothing of Node, and knows of the agent what it reads.
  web: ['base/text/show-invisible', 'type kube/node/pleg-report', 'type kube/node/recorded-timeline'],
};

/** Folders that belong to another room than the one that they lie in: they put parts together. */
const PARTS_TOGETHER: Readonly<Record<string, string>> = {
  'cli/commands/demo/story': 'node',
  'node/api/agent': 'node',
  'node/desired/changes': 'node',
  'node/resources/eviction/pods': 'node',
};

const ROOMS: ReadonlyMap<string, string> = new Map([
  ...Object.keys(MAY_IMPORT).map((room) => [room, room] as const),
  ...Object.entries(PARTS_TOGETHER),
]);

/** They put all of it together for users and for tests. */
const LOOSE = ['index', 'testing'];

/** The areas of src/, for who looks for the place of something. */
const AREAS = 14;
const LARGEST_FOLDER = 25;

/** Which areas or rooms may use which package; a package is named here once its reason stands in docs/dependencies.md. */
const MAY_USE_PACKAGE: Readonly<Record<string, readonly string[]>> = {
  '@bufbuild/protobuf': ['watch/cri'],
  '@grpc/grpc-js': [
    'watch/cri',
    'box',
    'proxy/chaos',
    'proxy/record',
    'proxy/reading',
    'proxy/relay',
    'testing',
  ],
  asn1js: ['base', 'node/api', 'cluster'],
  'classic-level': ['history'],
  commander: ['cli'],
  croner: ['kube'],
  'dns-packet': ['node/services'],
  'find-my-way': ['node/api'],
  fzstd: ['box'],
  'get-east-asian-width': ['cli'],
  'kubernetes-types': ['cluster'],
  preact: ['web'],
  'prom-client': ['node/telemetry/metrics', 'node/telemetry/registry'],
  'smol-toml': ['box'],
  uplot: ['web'],
  '@xterm/addon-fit': ['web'],
  '@xterm/xterm': ['web'],
  ws: ['cli', 'box', 'testing'],
  yaml: ['base', 'kube', 'node/desired', 'cli'],
};

/** Names that say nothing about what is inside. */
const EMPTY_NAMES = /^(utils?|helpers?|types|common|misc|shared)(\.test)?\.ts$/;
const MAX_FILE_LINES = 500;
const LONG_FILE = 350;

const sources = listFiles('src', '.ts', '.tsx').filter((file) => !file.endsWith('.test.ts'));
const handwritten = sources.filter((file) => !file.startsWith('watch/cri/generated/'));
const imports = sources.flatMap((file) => importsOf(file));

describe('who may import whom', () => {
  it('is known of every folder of src, of which there are few', () => {
    const unknown = sources.map(roomOf).filter((room) => !(room in MAY_IMPORT));
    expect([...new Set(unknown)]).toEqual([]);
    expect(new Set(sources.map(areaOf)).size).toBeLessThanOrEqual(AREAS);
  });

  it('is kept by every import', () => {
    const offences = imports.filter((each) => !each.isPackage && !isAllowed(each)).map(describeImport);
    expect(offences).toEqual([]);
  });

  it('is kept by every use of a package', () => {
    const offences = imports
      .filter((each) => each.isPackage && !each.to.startsWith('node:'))
      .filter(({ from, to }) => !(MAY_USE_PACKAGE[packageOf(to)] ?? []).includes(roomOf(from)))
      .map(describeImport);
    expect(offences).toEqual([]);
  });

  it('loads what joins a cluster only when it is asked for', () => {
    // Names marked as types one by one leave an import behind that loads the file: "import type" leaves none.
    const loading = /^(?:import|export) (?!type )[^;]*? from '#cluster'/m;
    const outside = handwritten.filter((file) => !['cluster', 'testing'].includes(roomOf(file)));
    expect(outside.filter((file) => loading.test(readText(`src/${file}`)))).toEqual([]);
  });

  it('goes through doors: another area is imported by its name, and one’s own by paths', () => {
    const offences = imports
      .filter(({ from, to, isPackage, isByName }) => !isPackage && isByName === (areaOf(from) === areaOf(to)))
      .filter(({ from }) => !LOOSE.includes(areaOf(from)));
    expect(offences.map(describeImport)).toEqual([]);
  });

  it('keeps commands apart: one needs nothing of another, and what they share needs none', () => {
    const commandOf = (file: string): string | undefined => /^cli\/commands\/([^/]+)\//.exec(file)?.[1];
    const offences = imports
      .filter(({ from, isPackage }) => !isPackage && areaOf(from) === 'cli' && from !== 'cli/program.ts')
      .filter(({ from, to }) => commandOf(to) !== undefined && commandOf(from) !== commandOf(to));
    expect(offences.map(describeImport)).toEqual([]);
  });

  it('lets nobody but the outlet for users hear or fill node:diagnostics_channel', () => {
    const outlet = 'base/channels/publishing-channel.ts';
    const users = imports.filter(({ to }) => to === 'node:diagnostics_channel').map(({ from }) => from);
    expect(users).toEqual([outlet]);
    const texts = handwritten.map((file) => ({ file, text: readText(`src/${file}`) }));
    const channels = texts.flatMap(({ text }) =>
      [...text.matchAll(/const (\w+) = definePublishingChannel</g)].map(([, name = '']) => name),
    );
    expect(channels.length).toBeGreaterThan(40);
    // Parts publish to the channels of their agent, and subscribe there.
    const global = new RegExp(`\\b(?:${channels.join('|')})\\s*\\.(?:publish|subscribe|hasSubscribers)\\b`);
    expect(texts.filter(({ text }) => global.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it('allows no circle of rooms', () => {
    const edges = (room: string): string[] =>
      (MAY_IMPORT[room] ?? []).map((rule) => roomOf(rule.replace(/^type /, '').replace(/\*$/, 'x')));
    expect(findCircle(Object.keys(MAY_IMPORT), edges)).toBeUndefined();
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

describe('benchmarks and test support', () => {
  const outside = ['benchmarks', 'test/support']
    .flatMap((folder) => listFiles(folder, '.ts').map((file) => `../${folder}/${file}`))
    .filter((file) => !file.endsWith('.test.ts'));
  const found = outside
    .flatMap((file) => importsOf(file))
    .filter(({ isPackage }) => !isPackage)
    .map((each) => ({ ...each, to: each.to.replace(/^\.\.\/src\//, '').replace(/^\.\/test\//, '../test/') }));

  it('use areas through their doors, but for the one area that a file measures or sets up', () => {
    const OPEN = ['base', 'kube', 'testing'];
    const inside = found.filter(
      ({ to, isByName }) =>
        !to.startsWith('../') && !isByName && !to.endsWith('/index.ts') && !OPEN.includes(areaOf(to)),
    );
    const areasOf = (file: string): ReadonlySet<string> =>
      new Set(inside.filter(({ from }) => from === file).map(({ to }) => areaOf(to)));
    expect(inside.filter(({ from }) => areasOf(from).size > 1).map(describeImport)).toEqual([]);
  });

  it('have no circle of files', () => {
    const edges = (file: string): readonly string[] =>
      found.filter(({ from }) => from === file).map(({ to }) => to);
    expect(findCircle(outside, edges)).toBeUndefined();
  });

  it('of which the support needs neither benchmarks nor tests', () => {
    const offences = found
      .filter(({ from }) => from.startsWith('../test/support/'))
      .filter(({ to }) => to.startsWith('../') && !to.startsWith('../test/support/'));
    expect(offences.map(describeImport)).toEqual([]);
  });
});

describe('a source file', () => {
  it('has a name in kebab-case that says what is inside', () => {
    const badly = listFiles('src', '.ts', '.tsx').filter((file) => {
      const name = file.split('/').at(-1)!;
      return EMPTY_NAMES.test(name) || !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z-]+)*\.tsx?$/.test(name);
    });
    expect(badly).toEqual([]);
  });

  it(`is in a folder of at most ${LARGEST_FOLDER}`, () => {
    const counts = new Map<string, number>();
    for (const file of sources) {
      const folder = path.posix.dirname(file);
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > LARGEST_FOLDER)).toEqual([]);
  });

  it(`has at most ${MAX_FILE_LINES} lines`, () => {
    const lengths = handwritten.map((file) => ({
      file,
      lines: readText(`src/${file}`).split('\n').length - 1,
    }));
    const long = lengths
      .filter(({ lines }) => lines > LONG_FILE)
      .map(({ file, lines }) => `${file}: ${lines}`);
    if (long.length > 0) console.warn(`more than ${LONG_FILE} lines, perhaps two ideas: ${long.join(', ')}`);
    expect(lengths.filter(({ lines }) => lines > MAX_FILE_LINES)).toEqual([]);
  });

  it('exports no default', () => {
    expect(handwritten.filter((file) => /^export default /m.test(readText(`src/${file}`)))).toEqual([]);
  });

  it('reads the environment of the process only in cli', () => {
    const readers = handwritten.filter((file) => /\bprocess\.env\b/.test(readText(`src/${file}`)));
    expect(readers.filter((file) => !['cli', 'testing'].includes(roomOf(file)))).toEqual([]);
  });

  it('outside of testing needs nothing of testing', () => {
    const users = imports.filter(({ from, to }) => roomOf(to) === 'testing' && roomOf(from) !== 'testing');
    expect(users.map(describeImport)).toEqual([]);
  });

  it('that is the entry of a subpath says in an @module block what it is for', () => {
    const entries = listSubpaths().map(findSource);
    expect(entries.filter((file) => !/^\/\*\*[^]*?@module[^]*?\*\//.test(readText(file)))).toEqual([]);
  });
});

/** `watch/cri/client.ts` is in `watch/cri`; a file right below src is a room of its own. */
function roomOf(file: string): string {
  let folder = file.replace(/\.ts$/, '');
  while (!ROOMS.has(folder) && folder.includes('/')) folder = path.posix.dirname(folder);
  return ROOMS.get(folder) ?? folder;
}

/** `watch/cri/client.ts` is in the area `watch`. */
function areaOf(file: string): string {
  return file.split('/')[0]!.replace(/\.ts$/, '');
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function isAllowed({ from, to, typeOnly }: SourceImport): boolean {
  const [own, other] = [roomOf(from), roomOf(to)];
  if (own === other || other === 'base') return true;
  return (MAY_IMPORT[own] ?? []).some((rule) => {
    const target = rule.replace(/^type /, '');
    if (rule.startsWith('type ') && !typeOnly) return false;
    if (target.endsWith('/*')) return to.startsWith(target.slice(0, -1));
    return target === other || to === `${target}.ts`;
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
