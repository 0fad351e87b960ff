import { reasonFor } from './known-reasons.js';
import { countPasses, type PassCount, type SpecResult } from './spec-report.js';

/** What a run was made with, for the head of the page. */
export interface RunFacts {
  readonly date: string;
  readonly suiteVersion: string;
  readonly kernel: string;
  readonly cgroups: string;
}

const HEAD = `## As a runtime: critest before the embedded runtime

[critest](https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/validation.md) is the public validation suite of
CRI. \`test/critest\` runs it against \`podloop runtime\`, as root and with images that are made on the spot: the machine's
busybox under the names that the suite asks for. The runtime pulls them over HTTP from a mirror, named in a \`hosts.toml\`.`;

/** Its part of the page: how many passed, and every spec with what became of it. */
export function formatConformancePage(results: readonly SpecResult[], facts: RunFacts): string {
  const { conformance, all } = countPasses(results);
  const groups = [...new Set(results.map(groupOf))];
  return `${[
    HEAD,
    `On ${facts.date} with critest ${facts.suiteVersion}, Linux ${facts.kernel}, ${facts.cgroups}:`,
    [
      '| specs           | passed | of  |',
      '| --------------- | ------ | --- |',
      `| \`[Conformance]\` | ${numbers(conformance)} |`,
      `| all             | ${numbers(all)} |`,
    ].join('\n'),
    `What did not pass says why: **not passed** when the runtime's answer was not what the suite wanted, **skipped** when
the suite left the spec out, since the machine or the runtime lacks what it is about. \`C\` marks \`[Conformance]\`.`,
    ...groups.map((group) =>
      formatGroup(
        group,
        results.filter((result) => groupOf(result) === group),
      ),
    ),
  ].join('\n\n')}\n`;
}

function numbers({ passed, all }: PassCount): string {
  return `${String(passed).padEnd(6)} | ${String(all).padEnd(3)}`;
}

function groupOf({ path }: SpecResult): string {
  return path[0] ?? '';
}

function formatGroup(group: string, results: readonly SpecResult[]): string {
  const rows = results.map((result) => [
    escapeCell(result.path.slice(1).join(': ')),
    result.conformance ? 'C' : '',
    outcomeOf(result),
  ]);
  const table = [['spec', '', 'result'], ['---', '---', '---'], ...rows];
  return `### ${group}\n\n${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`;
}

function outcomeOf(result: SpecResult): string {
  if (result.state === 'passed') return 'pass';
  const outcome = result.state === 'skipped' ? 'skipped' : '**not passed**';
  return `${outcome}: ${escapeCell(reasonFor(result))}`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '\\<');
}

const ROW = /^\| (?<spec>.*?) +\| (?<mark>C?) *\| (?<outcome>.*?) +\|$/;

/** The specs that a page calls passed, as `group: spec`, so that a run can be held against it. */
export function parsePassed(page: string): Set<string> {
  const passed = new Set<string>();
  let group = '';
  for (const line of page.split('\n')) {
    if (line.startsWith('### ')) group = line.slice(4).trim();
    const row = ROW.exec(line)?.groups;
    if (row?.['outcome'] === 'pass') passed.add(`${group}: ${row['spec'] ?? ''}`);
  }
  return passed;
}

/** The name under which {@link parsePassed} has a spec. */
export function pageNameOf(result: SpecResult): string {
  return `${groupOf(result)}: ${escapeCell(result.path.slice(1).join(': '))}`;
}
