import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const PAGE_HEAD = `# Results

Written by \`npm run bench\`. Absolute figures belong to the machine and the hour: compare within a section only.
`;

/** Puts `section` into a page of results: in place of the section of that title, or behind the last one. */
export function replaceSection(page: string, title: string, section: string): string {
  const head = `## ${title}\n`;
  const whole = `${head}\n${section.trim()}\n`;
  const start = page.indexOf(head);
  if (start === -1) return `${page.trimEnd()}\n\n${whole}`;
  const next = page.indexOf('\n## ', start + head.length);
  return page.slice(0, start) + whole + (next === -1 ? '' : page.slice(next));
}

/** Writes a benchmark's figures as JSON, and its section into benchmarks/RESULTS.md. */
export async function writeResults(
  name: string,
  title: string,
  figures: unknown,
  section: string,
): Promise<void> {
  await mkdir('benchmarks/results', { recursive: true });
  await writeFile(
    path.join('benchmarks/results', `${name}.json`),
    `${JSON.stringify(figures, undefined, 2)}\n`,
  );
  const pagePath = 'benchmarks/RESULTS.md';
  const page = await readFile(pagePath, 'utf8').catch(() => PAGE_HEAD);
  await writeFile(pagePath, replaceSection(page, title, section));
}
