import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';
import path from 'node:path';

import { percentile, type ChurnResult } from './churn-report.js';

/** Writes the results of a full run, dated, as a page for people and as data: `churn.md` and `churn.json`. */
export async function writeChurnResults(folder: string, results: readonly ChurnResult[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const date = new Date().toISOString();
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}`;
  const data = results.map(({ said: _said, verdict, ...rest }) => {
    const { failures, counts, deathLatenciesMs } = verdict;
    return { ...rest, failures, counts, endToEventMs: quantiles(deathLatenciesMs) };
  });
  await writeFile(
    path.join(folder, 'churn.json'),
    `${JSON.stringify({ date, machine, results: data }, null, 2)}\n`,
  );
  await writeFile(path.join(folder, 'churn.md'), page(date, machine, results));
}

function page(date: string, machine: string, results: readonly ChurnResult[]): string {
  const rows = results.map(({ containerd, mode, through, settings, kills, events, verdict }) => {
    const { counts, failures, deathLatenciesMs } = verdict;
    const { p50, p99, max } = quantiles(deathLatenciesMs);
    return [
      containerd,
      through === 'watch' ? `${mode}, \`podloop watch\`` : mode,
      settings.seed,
      `${settings.durationMs / 1000} s, ${kills}`,
      `${counts.containers} (${counts.early})`,
      events,
      counts.diedWithCode,
      counts.earlyDiedWithoutCode,
      `${counts.betweenLooksSettled} / ${counts.betweenLooksEarly}`,
      counts.startBetweenLooks,
      counts.codeLostByRuntime + counts.forgottenByRuntime,
      counts.neverStarted,
      `${p50} / ${p99} / ${max}`,
      failures.length,
    ].join(' | ');
  });
  const failures = results.flatMap(({ title, verdict }) =>
    verdict.failures.map(({ problem, story }) => `### ${title}: ${problem}\n\n\`\`\`\n${story}\n\`\`\`\n`),
  );
  return `# Churn on a real containerd

${date}, ${machine}. Made by \`npm run test:full\`.

${results[0]?.settings.pods ?? 0} pods of 2 containers created, killed, restarted and removed at random, while containerd itself is killed (-9)
and started again. The events are held against the driver's log and against what each container wrote down itself
(see \`test/containerd/churn/judge.ts\`): exactly one ContainerDied for each container, with the right exit code,
none twice, none missing. Times of end to event are those of a machine that runs the churn beside it.

| containerd | mode | seed | time, kills | containers (removed at once) | events | died with the right code | removed at once: died, status gone | no event, life between two looks: settled / at once | started unseen, between two looks | end lost by containerd itself (255) | created, never ran | end to event p50 / p99 / max, ms | wrong |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row} |`).join('\n')}

"Settled" containers were removed once containerd had answered and shown them dead for 3 s; one pod in ten removes its containers at once.
A container that ends while containerd is down is called 255 Unknown by containerd itself; that is what the event then says.
${failures.length === 0 ? '' : `\n## What is wrong\n\n${failures.join('\n')}`}`;
}

function quantiles(ascending: readonly number[]): { p50: number; p99: number; max: number } {
  const at = (share: number): number => Math.round(percentile(ascending, share) ?? NaN);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
