// Which libraries are in bundled files, and under which licences.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Name, version and licence of each library that these modules come from, as a text.
 *
 * @param {Iterable<string>} moduleIds paths of modules, as a bundler names them
 */
export function describeLicenses(moduleIds) {
  const texts = findLibraries(moduleIds).map(({ title, folder, modules }) => {
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file));
    const parts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
    // Some have their notices at the head of each module instead.
    if (files.length === 0)
      parts.push(...new Set(modules.map(readHead).filter((head) => /copyright/i.test(head))));
    if (parts.length === 0) throw new Error(`${title} says nowhere under which licence it is`);
    return `${title}\n\n${parts.join('\n\n')}\n`;
  });
  return `Parts of these libraries are in the files of this folder.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`;
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
