// `npm run docs:site`: the pages of docs as a web site with a search, which needs no server and no network, by TypeDoc.
//
//   node scripts/docs-site.mjs [FOLDER]     default: site/; open index.html in it
//
// TypeDoc is made for the pages of a library's types, and takes others beside them; those of types are Markdown here already. What it
// wants in front of a page (its title and its place in the list) is put into copies; the pages stay as they are.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Application } from 'typedoc';

const REPOSITORY = path.resolve(import.meta.dirname, '..');
/** Headings of the list, in its order, and the pages below each. */
const GROUPS = [
  ['Begin', /^(README|docs\/README)\.md$/],
  ['Guides', /^docs\/guides\//],
  ['Reference', /^docs\/reference\/[^/]+$/],
  ['API', /^docs\/reference\/api\//],
  ['How it is built', /^(docs\/[^/]+|CONTRIBUTING\.md|CHANGELOG\.md|test\/.*)$/],
  ['Results', /^(docs\/results|benchmarks)\//],
];
/** Where files are that pages show or link to; TypeDoc copies these. */
const BESIDE = [
  'docs/images',
  'benchmarks/plots',
  'benchmarks/results',
  'examples',
  'src',
  'proto',
  'LICENSE',
];

const FRONT = 'README.md';

const target = path.resolve(process.argv[2] ?? path.join(REPOSITORY, 'site'));
const copies = mkdtempSync(path.join(os.tmpdir(), 'podloop-site-'));
try {
  const pages = listPages();
  for (const page of pages) writeCopy(page, pages);
  for (const name of BESIDE) {
    mkdirSync(path.dirname(path.join(copies, name)), { recursive: true });
    symlinkSync(path.join(REPOSITORY, name), path.join(copies, name));
  }
  const app = await Application.bootstrap({
    entryPoints: [],
    projectDocuments: pages.filter((page) => page !== FRONT).map((page) => path.join(copies, page)),
    ...{ name: 'podloop', readme: path.join(copies, FRONT), disableSources: true },
    // It does not know anchors in HTML, which pages of the API have; a test holds all links of the site.
    logLevel: 'Error',
    searchGroupBoosts: { Guides: 3, Reference: 2, API: 0.5, Results: 0.5 },
    ...{ searchInDocuments: true, hideGenerator: true, githubPages: false, includeVersion: false },
    ...{
      groupOrder: GROUPS.map(([title]) => title),
      navigation: { includeGroups: true, includeFolders: false },
    },
    ...{ highlightLanguages: ['sh', 'bash', 'yaml', 'json', 'ts', 'js', 'text', 'toml', 'console'] },
  });
  const project = await app.convert();
  if (project === undefined) throw new Error('TypeDoc cannot read the pages');
  await app.generateDocs(project, target);
  if (app.logger.hasErrors()) process.exitCode = 1;
} finally {
  rmSync(copies, { recursive: true, force: true });
}

function listPages() {
  const below = (folder) =>
    readdirSync(path.join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => path.posix.join(folder, file));
  return [FRONT, ...below('docs').sort(), 'CONTRIBUTING.md', 'CHANGELOG.md', 'benchmarks/RESULTS.md'];
}

/** A page with its first heading and its group in front, as TypeDoc reads them, without links to what the site does not have. */
function writeCopy(page, pages) {
  const text = readFileSync(path.join(REPOSITORY, page), 'utf8');
  const [heading = '', title = path.basename(page, '.md')] = /^# (.+)\n+/.exec(text) ?? [];
  // The front page gets one by TypeDoc.
  const own = page === FRONT ? text.slice(heading.length) : text;
  const [group] = GROUPS.find(([, pattern]) => pattern.test(page));
  const front = `---\ntitle: ${JSON.stringify(title.replaceAll('`', ''))}\ngroup: ${group}\n---\n\n`;
  const file = path.join(copies, page);
  mkdirSync(path.dirname(file), { recursive: true });
  const body = own.replaceAll(/\[([^\]]*)\]\(([^)\s#]+)[^)\s]*\)/g, (link, words, to) => {
    const isKept = /^[a-z]+:/.test(to) || isOnSite(path.posix.join(path.posix.dirname(page), to), pages);
    return isKept ? link : words;
  });
  writeFileSync(file, front + body);
}

/** Folders and the notes of tests are no part of it. */
function isOnSite(file, pages) {
  if (pages.includes(file)) return true;
  const isBeside = BESIDE.some((name) => file === name || file.startsWith(`${name}/`));
  return isBeside && statSync(path.join(REPOSITORY, file)).isFile();
}
