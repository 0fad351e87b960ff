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
