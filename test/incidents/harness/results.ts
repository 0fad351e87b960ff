import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import { type Result, type Verdict } from './incident.js';

const FOLDER = path.resolve(import.meta.dirname, '../../../docs/results');
const FILE = path.join(FOLDER, 'incidents.json');
const PAGE = path.join(FOLDER, 'incidents.md');
/** The guide that has the same as a table of causes. */
const GUIDE = path.join(FOLDER, '../guides/pleg-is-not-healthy.md');
/** Around the table, which nobody writes by hand. */
const MARKS = ['<!-- causes: begin -->', '<!-- causes: end -->'] as const;

/** The commit that these sources are of; `+` behind it where something is changed. */
export function describeCommit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', 'src') === '' ? '' : '+';
  return `${git('rev-parse', '--short', 'HEAD')}${changed}`;
}

/** Writes a result in the place of the earlier one of the same incident and release. Nothing without PODLOOP_RESULTS. */
export async function writeResult(result: Result): Promise<void> {
  if (process.env['PODLOOP_RESULTS'] === undefined) return;
  const before = JSON.parse(await readFile(FILE, 'utf8').catch(() => '[]')) as Result[];
  const keyOf = ({ incident, containerd }: Result): string => `${incident}\0${containerd}`;
  const results = [...before.filter((each) => keyOf(each) !== keyOf(result)), result].sort((a, b) =>
    keyOf(a) < keyOf(b) ? -1 : 1,
  );
  await writeFile(FILE, `${JSON.stringify(results, undefined, 2)}\n`);
  const config = await resolveConfig(PAGE);
  await writeFile(PAGE, await format(toPage(results), { ...config, parser: 'markdown' }));
  const guide = withTable(await readFile(GUIDE, 'utf8'), results);
  await writeFile(GUIDE, await format(guide, { ...config, parser: 'markdown' }));
}

/** The results that are kept. */
export async function readResults(): Promise<readonly Result[]> {
  return JSON.parse(await readFile(FILE, 'utf8')) as Result[];
}

/** The guide as it has to be with these results, and as it is. */
export async function readGuide(results: readonly Result[]): Promise<{ wanted: string; is: string }> {
  const is = await readFile(GUIDE, 'utf8');
  const config = await resolveConfig(GUIDE);
  return { is, wanted: await format(withTable(is, results), { ...config, parser: 'markdown' }) };
}

/** Puts the table of causes into the guide. Pure. */
function withTable(guide: string, results: readonly Result[]): string {
  const [begin, end] = MARKS;
  const [before, rest] = guide.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${GUIDE} lacks the lines ${begin} and ${end}`);
  return `${before}${begin}\n\n${toCauses(results)}\n\n${end}${after}`;
}

/** One row for each incident that was named, as seen on the newest release. Pure. */
export function toCauses(results: readonly Result[]): string {
  const newest = new Map<string, Result>();
  for (const result of results) {
    const known = newest.get(result.incident);
    if (known === undefined || known.containerd < result.containerd) newest.set(result.incident, result);
  }
  const rows = [...newest.values()].filter(({ kubelet, said }) => kubelet !== undefined && said !== '');
  const list = (lines: readonly string[]): string =>
    lines.length === 0 ? 'nothing' : lines.map((line) => quote(cell(withoutPaths(line)))).join('<br>');
  return [
    '| what happened | what the kubelet logged | what its metrics showed | what the doctor said | after |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map(
      ({ incident, kubelet, said, tookS }) =>
        `| ${cell(incident)} | ${list(kubelet!.log)} | ${list(kubelet!.metrics)} | ${cell(withoutPaths(said))} | ${tookS.toFixed(0)} s |`,
    ),
  ].join('\n');
}

/** Without the folders of a test. */
function withoutPaths(text: string): string {
  return text.replaceAll(/\/tmp\/podloop-[^\s/]+/g, '…');
}

/** In a cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}

/** As code, whatever stands in it. */
function quote(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** The page for people. Pure. */
export function toPage(results: readonly Result[]): string {
  const countOf = (verdict: Verdict): number => results.filter((each) => each.verdict === verdict).length;
  return [
    '# Incidents beside a real kubelet',
    '',
    `Made by \`npm run test:incidents\`, each for real on a containerd of its own beside a kubelet, then \`podloop doctor\` with its defaults: ${countOf('right')} right, ${countOf('late')} late, ${countOf('unnamed')} unnamed, ${countOf('missed')} missed.`,
    '',
    '`right`: the first examination has one finding, with class, pod, process and remedy. `late`: a later examination has it. `unnamed`: the class is right, and something lacks or is blamed beside it. `missed`: the class is wrong.',
    '',
    '| incident | containerd | verdict | took | what it said | date, commit |',
    '| --- | --- | --- | --- | --- | --- |',
    ...results.map(
      ({ incident, containerd, verdict, why, tookS, said, date, commit }) =>
        `| ${cell(incident)} | ${containerd} | ${verdict}${why === '' ? '' : `: ${cell(why)}`} | ${tookS.toFixed(1)} s | ${cell(said)} | ${date}, ${commit} |`,
    ),
    '',
  ].join('\n');
}
