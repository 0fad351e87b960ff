import { type SpecResult } from '../critest/spec-report.js';
import { reasonFor } from './known-reasons.js';
import { specName, withoutMarks } from './spec-choice.js';
import { STAND_INS } from './stand-in-images.js';

/** What one spec came to, and when. */
export interface KeptResult extends SpecResult {
  /** Of podloop. */
  readonly commit: string;
  /** As in `2026-11-23`. */
  readonly date: string;
  /** It failed beside others, and this is what it came to by itself. */
  readonly repeated: boolean;
}

/** What a run was made with, for the head of the part. */
export interface E2eFacts {
  readonly kubernetes: string;
  readonly containerd: string;
  readonly kernel: string;
  readonly cgroups: string;
}

const HEAD = `## As a node: Kubernetes’ e2e suite

The [e2e suite](https://github.com/kubernetes/community/blob/master/contributors/devel/sig-testing/e2e-tests.md) of Kubernetes, run by
\`test/e2e\` against a real control plane whose one node is \`podloop run --kubeconfig\` on containerd: all specs that are marked
\`[NodeConformance]\`, without \`[Serial]\`, \`[Disruptive]\` and \`[Slow]\`, and without the four that wait for optional objects of volumes
to come.`;

/** The part of docs/reference/conformance.md about the e2e suite: how many passed, and every spec with what became of it. */
export function formatE2ePart(results: readonly KeptResult[], facts: E2eFacts): string {
  const sorted = [...results].sort((one, other) => (specName(one) < specName(other) ? -1 : 1));
  const count = (chosen: readonly KeptResult[]): string => {
    const passed = chosen.filter(({ state }) => state === 'passed').length;
    return `${passed} | ${chosen.length}`;
  };
  const repeated = sorted.filter(({ state, repeated }) => state === 'passed' && repeated).length;
  const { kubernetes, containerd, kernel, cgroups } = facts;
  return [
    HEAD,
    `${formatRuns(sorted)}, with Kubernetes ${kubernetes}, containerd ${containerd}, Linux ${kernel} and ${cgroups}:`,
    [
      '| specs | passed | of |',
      '| --- | --- | --- |',
      `| \`[Conformance]\` | ${count(sorted.filter(({ conformance }) => conformance))} |`,
      `| all | ${count(sorted)} |`,
    ].join('\n'),
    `No registry is asked: these images play those that the suite wants, whatever their tags.`,
    [
      '| image | played by |',
      '| --- | --- |',
      ...Object.entries(STAND_INS).map(([name, { what }]) => `| \`${name}\` | ${what} |`),
    ].join('\n'),
    `What did not pass says why: **not passed** when something was not as the suite wants it, **skipped** when the suite left the
spec out by itself. \`C\` marks \`[Conformance]\`. Specs run several at a time; one that did not pass was run again by itself, and what it came to
then counts${repeated === 0 ? '' : `: *alone* marks the ${repeated} that passed only then`}.`,
    ...groupsOf(sorted).map(([group, members]) => formatGroup(group, members)),
  ].join('\n\n');
}

/** As in `On 2026-11-23 at commit abc (200 specs) and commit def (32)`. */
function formatRuns(results: readonly KeptResult[]): string {
  const runs = new Map<string, number>();
  for (const { date, commit } of results) {
    const run = `${date} at commit ${commit}`;
    runs.set(run, (runs.get(run) ?? 0) + 1);
  }
  if (runs.size === 1) return `On ${[...runs.keys()].join()}`;
  return `On ${[...runs].map(([run, specs]) => `${run} (${specs} specs)`).join(', ')}`;
}

function groupsOf(results: readonly KeptResult[]): [string, KeptResult[]][] {
  const groups = new Map<string, KeptResult[]>();
  for (const result of results) {
    const group = withoutMarks(result.path[0] ?? '');
    groups.set(group, [...(groups.get(group) ?? []), result]);
  }
  return [...groups];
}

function formatGroup(group: string, results: readonly KeptResult[]): string {
  const rows = results.map((result) => [specCell(result), result.conformance ? 'C' : '', outcomeOf(result)]);
  const table = [['spec', '', 'result'], ['---', '---', '---'], ...rows];
  return `### ${escapeCell(group)}\n\n${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`;
}

function specCell({ path }: SpecResult): string {
  return escapeCell(path.slice(1).map(withoutMarks).join(' '));
}

function outcomeOf(result: KeptResult): string {
  if (result.state === 'passed') return result.repeated ? 'pass (*alone*)' : 'pass';
  const outcome = result.state === 'skipped' ? 'skipped' : '**not passed**';
  return `${outcome}: ${escapeCell(reasonFor(result) ?? (result.message.split('\n')[0] ?? '').slice(0, 200))}`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '\\<').replaceAll('*', '\\*');
}

/** A spec as the page has it. */
export interface ListedSpec {
  /** {@link specName}. */
  readonly name: string;
  readonly passed: boolean;
  /** The whole cell: `pass`, `**not passed**: …`. */
  readonly outcome: string;
}

const ROW = /^\| (?<spec>.*?) +\| (?<mark>C?) *\| (?<outcome>.*?) +\|$/;

/** Every spec of the part, formatted or not. */
export function parseE2ePart(part: string): ListedSpec[] {
  const listed: ListedSpec[] = [];
  let group: string | undefined;
  for (const line of part.split('\n')) {
    if (line.startsWith('### ')) group = line.slice(4).trim();
    const row = ROW.exec(line)?.groups;
    const outcome = row?.['outcome'];
    if (group === undefined || row === undefined || outcome === undefined) continue;
    if (row['spec'] === 'spec' || row['spec']?.startsWith('---')) continue;
    const name = unescape(`${group} ${row['spec'] ?? ''}`);
    listed.push({ name, passed: outcome.startsWith('pass'), outcome });
  }
  return listed;
}

function unescape(text: string): string {
  return text.replace(/\\([\\|<*[\]_])/g, '$1');
}
