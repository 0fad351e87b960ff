// Which libraries are in bundled files, and under which licences.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The names of holders stand within the first lines. */
const LINES_OF_HOLDERS = 12;
/** In characters: shorter ones stand for themselves. */
const LEAST_SHARED = 400;

/**
 * Name, version and licence of each library that these modules come from, as a text.
 *
 * @param {Iterable<string>} moduleIds paths of modules, as a bundler names them
 */
export function describeLicenses(moduleIds) {
  /** Who has a text first, by its words. */
  const firstWith = new Map();
  const texts = findLibraries(moduleIds).map(({ title, folder, modules }) => {
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const parts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
    // Some have their notices at the head of each module instead.
    if (files.length === 0)
      parts.push(...new Set(modules.map(readHead).filter((head) => /copyright/i.test(head))));
    if (parts.length === 0) throw new Error(`${title} says nowhere under which licence it is`);
    return `${title}\n\n${parts.map((part) => onceOnly(part, title, firstWith)).join('\n\n')}\n`;
  });
  return `Parts of these libraries are in the files of this folder.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/**
 * A licence, whose terms stand once: many libraries have the same below the names of their holders, line breaks aside. What Apache's
 * has behind its terms, a form to fill in, stays.
 */
function onceOnly(text, title, firstWith) {
  const lines = text.split('\n');
  const holders =
    lines
      .slice(0, LINES_OF_HOLDERS)
      .findLastIndex((line) => /^\W*(?:copyright|author|all rights)\b/i.test(line)) + 1;
  const end = lines.findIndex((line) => /END OF TERMS AND CONDITIONS/.test(line));
  const [before, terms, after] = [
    lines.slice(0, holders),
    lines.slice(holders, end < 0 ? undefined : end),
    end < 0 ? [] : lines.slice(end + 1),
  ];
  const words = terms
    .join(' ')
    .replaceAll(/["'`*\s]+/g, ' ')
    .trim()
    .toLowerCase();
  const first = firstWith.get(words);
  if (words.length < LEAST_SHARED || first === undefined) {
    firstWith.set(words, title);
    return text;
  }
  return [...before, `Terms: those of ${first}, above.`, ...after].join('\n').trim();
}

/** `NAME VERSION: LICENCE` of each, as {@link describeLicenses} has it above the licence's text. */
export function listLibraries(moduleIds) {
  return findLibraries(moduleIds).map(({ title }) => title);
}

function findLibraries(moduleIds) {
  const modulesOf = new Map();
  for (const id of moduleIds) {
    const [folder] =
      /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/.exec(id.replace(/^\0/, '')) ?? [];
    if (folder !== undefined) modulesOf.set(folder, [...(modulesOf.get(folder) ?? []), id]);
  }
  return [...modulesOf].sort().map(([folder, modules]) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return { title: `${name} ${version}: ${license}`, folder, modules };
  });
}

/** The comment that a module begins with. */
function readHead(module) {
  const lines = readFileSync(module, 'utf8').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines.slice(0, end).join('\n');
}
