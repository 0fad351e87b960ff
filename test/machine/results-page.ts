import { format, resolveConfig } from 'prettier';

import { type ImageName, IMAGES, IMAGE_WORDS } from './image-recipe.js';
import { type MachineResult, type Verdict } from './machine-result.js';

const HEAD = `# A stock Debian 13 node

For people who want to know whether podloop works on a node like theirs. \`npm run test:machine\` boots Debian 13 under QEMU (cgroup v2
alone, systemd as its manager, AppArmor), installs the packed package and runs suites inside;
[test/machine](../../test/machine/README.md) says how. This page is made from machine.json.

The node is emulated and many times slower than a real one, so nothing is measured here. A test that ran into a time limit counts as
**not judged**, never as passed.`;

const VERDICTS: readonly Verdict[] = ['passed', 'failed', 'not judged'];

/** docs/results/machine.md, formatted as the project's pages are. */
export async function formatMachinePage(results: readonly MachineResult[]): Promise<string> {
  const sections = IMAGES.flatMap((image) => {
    const own = results.filter((result) => result.image === image);
    return own.length === 0 ? [] : [formatImage(image, own)];
  });
  const page = [HEAD, formatSummary(results), ...sections].join('\n\n');
  const config = await resolveConfig('docs/results/machine.md');
  return format(page, { ...config, parser: 'markdown' });
}

/** The suites that show whether a node survives its pods, its shutdowns and its settings. */
const GUARDS: Readonly<Record<string, string>> = {
  guards:
    'fork bomb, twenty memory bombs, log flood, processes spent, disk filled: the agent answers, the culprit goes, the others live',
  'node shutdown': 'pods end before the machine does, none starts, all are back when it is cancelled',
  'ten shutdowns':
    'ten shutdowns under load, five of them cut off: each pod gets its time, the critical one ends last, all are back',
  'cgroup drivers': 'limits of pods and containers, memory that is kept for them, with both drivers',
  'own limits': 'containers see their own limits',
  'volume sizes': 'project quotas hold claims to their size',
  eviction: 'a node of a control plane that is short of disk',
  'node specs, groups':
    'e2e_node: groups of pods and classes, scores for the OOM killer, limits of processes',
  'node specs, allocatable': 'e2e_node: what is reserved, groups that somebody has changed',
  'node specs, memory QoS': 'e2e_node: memory.min, memory.low and memory.high',
  'node specs, swap': 'e2e_node: which pods may swap, and how much',
  'node specs, OOM': 'e2e_node: reasons of containers that the kernel killed',
  'node specs, shutdown': 'e2e_node: pods end by priority when the node goes down',
  'node specs, eviction': 'e2e_node: who goes first when memory, disk, inodes or processes run short',
};
const GUARDS_HEAD = `# The node protects itself

For operators who ask whether a node survives its pods. Each suite attacks a stock Debian 13 (cgroup v2, systemd) under QEMU, as
[test/machine](../../test/machine/README.md) says. This page is made from
machine.json, and [its page](machine.md) has each test. A suite that ran into a time limit is **not judged**.

The \`node specs\` are those of Kubernetes' own e2e_node suite. The real kubelet v1.37.2 plays each of them first, on the same machine and
containerd: **passed** means that both pass. What the kubelet fails there is not judged, with the results of both on
[the page of all tests](machine.md).`;

/** docs/results/guards.md. */
export async function formatGuardsPage(results: readonly MachineResult[]): Promise<string> {
  const rows = Object.entries(GUARDS).flatMap(([suite, what]) => {
    const own = results.filter((result) => result.suite === suite);
    const images = [...new Set(own.map(({ image }) => image))];
    if (images.length === 0) return [`| ${suite} | ${what} | – | **not run yet** | |`];
    return images.map((image) => {
      const here = own.filter((result) => result.image === image);
      const counts = VERDICTS.flatMap((verdict) => {
        const count = here.filter((result) => result.verdict === verdict).length;
        return count === 0 ? [] : [`${count} ${verdict}`];
      });
      const last = here
        .map(({ date, commit }) => `${date}, ${commit}`)
        .sort()
        .at(-1)!;
      return `| ${suite} | ${what} | \`${image}\` | ${counts.join(', ')} | ${last} |`;
    });
  });
  const table = [
    '| suite | what it shows | image | tests | last run |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ];
  const config = await resolveConfig('docs/results/guards.md');
  return format([GUARDS_HEAD, table.join('\n')].join('\n\n'), { ...config, parser: 'markdown' });
}

function formatSummary(results: readonly MachineResult[]): string {
  const rows = IMAGES.map((image) => {
    const own = results.filter((result) => result.image === image);
    const counts = VERDICTS.map((verdict) => String(own.filter((each) => each.verdict === verdict).length));
    return `| \`${image}\`: ${IMAGE_WORDS[image]} | ${counts.join(' | ')} |`;
  });
  return ['| image | passed | failed | not judged |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function formatImage(image: ImageName, results: readonly MachineResult[]): string {
  const suites = [...new Set(results.map(({ suite }) => suite))];
  const tables = suites.map((suite) => {
    const own = results.filter((result) => result.suite === suite);
    return [
      `### ${image}: ${suite}`,
      '',
      '| test | result | seconds | date | commit |',
      '| --- | --- | --- | --- | --- |',
      ...own.map(formatRow),
    ].join('\n');
  });
  return [`## ${image}`, ...tables].join('\n\n');
}

function formatRow({ title, verdict, reason, seconds, date, commit }: MachineResult): string {
  const why = reason === undefined ? '' : `: ${escapeCell((reason.split('\n')[0] ?? '').slice(0, 200))}`;
  const result = verdict === 'passed' ? 'passed' : `**${verdict}**${why}`;
  return `| ${escapeCell(title)} | ${result} | ${seconds} | ${date} | ${commit} |`;
}

function escapeCell(text: string): string {
  return text.replaceAll(/[|*<_`[\]\\]/g, '\\$&').replaceAll('\n', ' ');
}
