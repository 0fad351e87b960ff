import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What one whole run has shown: a row of words and numbers under a heading. */
export interface RunResult {
  /** Heading and key: a later run of the same name replaces it. */
  readonly name: string;
  /** One sentence on what was done. */
  readonly what: string;
  readonly values: Readonly<Record<string, string | number>>;
}

interface KeptResult extends RunResult {
  readonly date: string;
  readonly machine: string;
}

/**
 * Writes what a whole run has shown into `docs/results/<page>.json` and, for people, `.md`. Does nothing unless
 * PODLOOP_RESULTS is set, as `npm run test:full` sets it: a sample proves less than the whole. `command`: what makes the page.
 */
export async function recordResult(
  page: string,
  title: string,
  result: RunResult,
  command = 'npm run test:full',
): Promise<void> {
  if (process.env['PODLOOP_RESULTS'] === undefined) return;
  const path = (ending: string): string =>
    fileURLToPath(new URL(`../../docs/results/${page}.${ending}`, import.meta.url));
  const text = await readFile(path('json'), 'utf8').catch(() => '[]');
  const before = JSON.parse(text) as readonly KeptResult[];
  const kept: KeptResult = { ...result, date: new Date().toISOString(), machine: describeMachine() };
  const results = [...before.filter(({ name }) => name !== result.name), kept].sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  await mkdir(dirname(path('md')), { recursive: true });
  await writeFile(path('json'), `${JSON.stringify(results, undefined, 2)}\n`);
  await writeFile(path('md'), renderPage(title, results, command));
}

function renderPage(title: string, results: readonly KeptResult[], command: string): string {
  const sections = results.map(({ name, what, values, date, machine }) => {
    const rows = Object.entries(values).map(([key, value]) => `| ${key} | ${value} |`);
    return [
      `## ${name}`,
      '',
      what,
      '',
      `${date}, ${machine}.`,
      '',
      '| what | result |',
      '| --- | --- |',
      ...rows,
    ].join('\n');
  });
  const note = `Made by \`${command}\`. Times are those of that machine in that hour.`;
  return `${[`# ${title}`, note, ...sections].join('\n\n')}\n`;
}

function describeMachine(): string {
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores, ${gib} GiB, Linux ${release()}, Node ${process.version}`;
}
