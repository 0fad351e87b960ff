/**
 * The documentation says what the code does: every code, every dependency, every link.
 *
 * The pages of the command line are held by src/cli/cli-reference.test.ts, the examples of the entries by
 * exports.test.ts.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode, type ErrorCodeFacts } from '#base/errors/errors.js';
import { listSubpaths, readPackageJson } from './installed-package.js';
import { listFiles, readText, REPOSITORY } from './source-tree.js';

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...listFiles('docs', '.md').map((file) => `docs/${file}`),
];

/** The terms of the glossary that mean nothing else elsewhere, as sentences have them. */
const TERMS = {
  relist: 'relists?|relisting',
  sandbox: 'sandbox(?:es)?',
  'stuck-pod': 'stuck pods?',
  'root-folder': 'root folders?',
  'runtime-in-the-box': 'runtime in the box',
  'announced-exit': '(?:announced|early) exits?',
  inspection: 'inspections?',
  pleg: 'PLEG',
  'container-runtime-cri': 'CRI',
  observer: 'observers?',
};

/** Pages that are the glossary, lists, or the words of the code. */
const UNLINKED: ReadonlySet<string> = new Set([
  'docs/README.md',
  'docs/dependencies.md',
  'docs/reference/cli.md',
  'docs/reference/errors.md',
  'docs/reference/glossary.md',
]);

/** The sentences of a page: no headings, code, tables, quotations or texts of links. */
function proseOf(text: string): string {
  return text
    .replaceAll(/```.*?```/gs, '')
    .replaceAll(/`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]+>|"[^"]*"/g, '')
    .replaceAll(/^(?:#|\|).*$/gm, '');
}

/** What stands below each heading of that level, by heading, in order. */
function sectionsOf(page: string, level: number): Map<string, string> {
  const [, ...sections] = readText(page).split(new RegExp(`^#{${level}} `, 'm'));
  return new Map(
    sections.map((section) => {
      const [heading = '', ...body] = section.split('\n');
      return [heading.trim(), body.join('\n').split(/^#/m)[0]!];
    }),
  );
}

/** Text without line breaks and typographic apostrophes, so that only the words count. */
function wordsOf(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('’', "'").trim();
}

describe('docs/reference/errors.md', () => {
  const sections = sectionsOf('docs/reference/errors.md', 3);

  it('has every error code and no other', () => {
    expect([...sections.keys()].sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });

  it.each(Object.keys(ERROR_CODES) as ErrorCode[])('says of %s what the table says', (code) => {
    const { when, remedy, retryable }: ErrorCodeFacts = ERROR_CODES[code];
    const text = wordsOf(sections.get(code) ?? '');
    expect(text).toContain(wordsOf(when));
    expect(text).toContain(`**What to do:** ${wordsOf(remedy)}`);
    expect(text).toContain(
      retryable ? 'The same request may succeed later.' : 'Trying again alone does not help.',
    );
  });

  it('has every code that a page or a comment names', () => {
    const prefixes = [...new Set(Object.keys(ERROR_CODES).map((code) => code.split('_')[0]!))];
    const codes = new RegExp(`\\b(?:${prefixes.join('|')})_[A-Z][A-Z0-9_]*[A-Z0-9]\\b`, 'g');
    // Names of the wire, made by its generator, look alike; so does a variable of Node.
    const constants = /^(CONTAINER|RUNTIME|POD|IMAGE)_|^NODE_OPTIONS$/;
    const named = pages
      // Made of the names of the code, constants among them.
      .filter((page) => !page.startsWith('docs/reference/api/'))
      .flatMap((page) => readText(page).match(codes) ?? [])
      .filter((code) => !constants.test(code));
    expect(named.filter((code) => !(code in ERROR_CODES))).toEqual([]);
  });
});

describe('docs/reference/api', () => {
  it('has a page for every entry, which the list beside them names', () => {
    const pages = listSubpaths().map((entry) => `${entry.replace('/', '.')}.md`);
    expect(listFiles('docs/reference/api', '.md')).toEqual(['README.md', ...pages].sort());
    const list = readText('docs/reference/api/README.md');
    expect(pages.filter((page) => !list.includes(`(${page})`))).toEqual([]);
  });
});

describe('docs/dependencies.md', () => {
  const { dependencies, devDependencies } = readPackageJson();
  const licenses = readText('dist/program/LICENSES.txt');
  const isInside = (name: string): boolean => licenses.includes(`\n${name} `);

  it.each([
    ['Installed', Object.keys(dependencies)],
    ['Inside', Object.keys(devDependencies).filter(isInside)],
    ['For development', Object.keys(devDependencies).filter((name) => !isInside(name))],
  ])('%s: has the reason for every package and for no other', (heading, packages) => {
    const text = sectionsOf('docs/dependencies.md', 2).get(heading) ?? '';
    const reasons = [...text.matchAll(/^- `([^`]+)`: (.+)$/gm)];
    expect(reasons.map((match) => match[1]).sort()).toEqual([...packages].sort());
    for (const [, name, reason] of reasons) expect(reason!.length, name).toBeGreaterThan(20);
  });
});

describe('a page', () => {
  // The list of all pages is a table of readers; results and the pages of each export are found by what they are of.
  const written = pages.filter((page) => /^docs\/(?:[^/]+|guides\/[^/]+|reference\/[^/]+)\.md$/.test(page));

  it.each(pages)('%s links only to what is there', (page) => {
    const lost: string[] = [];
    for (const [, target] of readText(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:)/.test(target!)) continue;
      const [file = '', anchor] = target!.split('#');
      const linked = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      if (!existsSync(path.join(REPOSITORY, linked))) lost.push(target!);
      else if (anchor !== undefined && linked.endsWith('.md') && !anchorsOf(linked).has(anchor))
        lost.push(target!);
    }
    expect(lost).toEqual([]);
  });

  it('says in its first words for whom it is', () => {
    const silent = written.filter((page) => !/^# .+\n\nFor [a-z]/.test(readText(page)));
    expect(silent).toEqual(['docs/README.md']);
  });

  it.each(Object.entries(TERMS))('leads from %s to the glossary', (anchor, words) => {
    const mentions = new RegExp(`(?<![\\w-])(?:${words})(?![\\w-])`);
    const without = written
      .filter((page) => !UNLINKED.has(page) && mentions.test(proseOf(readText(page))))
      .filter((page) => !readText(page).includes(`glossary.md#${anchor})`));
    expect(without).toEqual([]);
  });

  it('names only files of src/ and test/ that are there', () => {
    const names = /`((?:src|test|scripts|docs|examples|benchmarks|proto)\/[\w./-]+)`/g;
    const lost = pages
      // The change log tells of what was, too.
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) => [...readText(page).matchAll(names)].map((match) => `${page}: ${match[1]!}`))
      .filter((entry) => !existsSync(path.join(REPOSITORY, entry.split(': ')[1]!)));
    expect(lost).toEqual([]);
  });

  it('names only scripts that package.json has', () => {
    const { scripts } = readPackageJson();
    const named = [...pages, '.ci/run'].flatMap((page) => [
      ...readText(page).matchAll(/npm run (?:--silent )?([\w:]+)/g),
    ]);
    expect(named.map((match) => match[1]!).filter((script) => !(script in scripts))).toEqual([]);
  });
});

const anchors = new Map<string, ReadonlySet<string>>();

/** The anchors of a page: those that GitHub gives its headings, numbered where they repeat, and those it has by itself. */
function anchorsOf(page: string): ReadonlySet<string> {
  let found = anchors.get(page);
  if (found === undefined) {
    const text = readText(page);
    const own = [...text.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1]!);
    const counts = new Map<string, number>();
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
      const anchor = heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-');
      const before = counts.get(anchor) ?? 0;
      counts.set(anchor, before + 1);
      return before === 0 ? anchor : `${anchor}-${before}`;
    });
    found = new Set([...own, ...headings]);
    anchors.set(page, found);
  }
  return found;
}

describe('docs/reference/security.md', () => {
  /** The cells of the rows that name tests, by what they are about. */
  const rows = readText('docs/reference/security.md')
    .split('\n')
    .map((line) => line.split(/ +\| */).map((cell) => cell.replace(/^\| */, '')))
    .filter((cells) => cells.length >= 3 && /`[^`]*test[^`]*`/.test(cells[2] ?? ''));

  it('has at least the classes that were tried', () => {
    expect(rows.length).toBeGreaterThanOrEqual(45);
  });

  it.each(rows.map(([what = '', , tests = '']) => [what, tests]))(
    'names tests that there are: %s',
    (_what, tests) => {
      const titles = new Map<string, string[]>();
      let file = '';
      for (const [, name, title] of tests.matchAll(/`([^`]+)`|"([^"]+)"/g)) {
        if (name === undefined) titles.get(file)!.push(title!);
        else titles.set((file = name), []);
      }
      for (const [name, expected] of titles) {
        expect(existsSync(path.join(REPOSITORY, name)), name).toBe(true);
        for (const title of expected) expect(readText(name)).toContain(title);
      }
    },
  );
});
