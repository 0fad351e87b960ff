import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

/** Where both suites' tables are kept, relative to the project. */
export const CONFORMANCE_PAGE = 'docs/reference/conformance.md';

/** The parts of the page, each written by the runner of its suite. */
export type ConformancePart = 'e2e' | 'critest';

/** The part of the page between its two marks; throws when they are not there. */
export function readPart(page: string, part: ConformancePart): string {
  const { from, to } = findPart(page, part);
  return page.slice(from, to);
}

/** The page with this text between the two marks of the part. */
export function replacePart(page: string, part: ConformancePart, text: string): string {
  const { from, to } = findPart(page, part);
  return `${page.slice(0, from)}\n\n${text.trim()}\n\n${page.slice(to)}`;
}

/** Writes the part into the page in the given file, formatted as the project's pages are. */
export async function writePart(file: string, part: ConformancePart, text: string): Promise<void> {
  const page = replacePart(await readFile(file, 'utf8'), part, text);
  await writeFile(file, await format(page, { ...(await resolveConfig(file)), filepath: file }));
}

function findPart(page: string, part: ConformancePart): { from: number; to: number } {
  const begin = new RegExp(`<!-- part ${part}:[^>]*-->`).exec(page);
  const to = page.indexOf(`<!-- end of ${part} -->`);
  if (begin === null || to < 0) throw new Error(`the page has no part ${part}`);
  return { from: begin.index + begin[0].length, to };
}
