/**
 * `npm run bench`: runs the benchmarks and writes down what they found.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { type Release, RELEASES } from '../test/containerd/harness/installed.js';
import { runLatencyBenchmark } from './latency/latency-benchmark.js';
import { formatLatencyReport } from './latency/latency-report.js';
import { readMachineFacts } from './machine-facts.js';
import { Progress } from './progress.js';
import { runRelayBenchmark } from './relay/relay-benchmark.js';
import { formatRelayReport } from './relay/relay-report.js';
import { runRelistBenchmark } from './relist/relist-benchmark.js';
import { formatRelistReport } from './relist/relist-report.js';
import { writeResults } from './results-page.js';

const HELP = `Usage: npm run bench -- [options] [relist] [latency] [relay]

  relist      idle relists next to the bare list calls, on a synthetic runtime
  latency     from a process's end to its event, on a real containerd; as root, after scripts/containerd/install.mjs
  relay       calls through the relay of frames and through chaos, next to a bare byte pipe
  (no name)   relist

Options:
  --full           more time for it, and the results are kept: benchmarks/results/*.json and benchmarks/RESULTS.md
  --keep           keep the results without --full
  --sizes N,N      relist: containers on the node (default 110,1000,5000,10000)
  --rounds N       relist, relay: timed rounds of each size, at least (default 30); more are taken until the intervals are
                   narrow or 15 s have passed, 120 s with --full
  --releases R,R   latency: releases of containerd (default 2.1; those before 1.7 have no events)
  --deaths N       latency: for each way of finding out (default 20, with --full 100)
  --help           this text

Tables go to stdout, progress to stderr.
`;

const BENCHMARKS = ['relist', 'latency', 'relay'] as const;

interface RunOptions {
  readonly keep: boolean;
  readonly full: boolean;
  readonly values: Readonly<Record<'sizes' | 'rounds' | 'releases' | 'deaths', string | undefined>>;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      sizes: { type: 'string' },
      rounds: { type: 'string' },
      releases: { type: 'string' },
      deaths: { type: 'string' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const unknown = positionals.find((name) => !BENCHMARKS.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`there is no benchmark "${unknown}"; see --help`);
  const { sizes, rounds, releases, deaths, full, keep } = values;
  const options: RunOptions = { full, keep: full || keep, values: { sizes, rounds, releases, deaths } };
  if (positionals.length === 0 || positionals.includes('relist')) await runRelist(options);
  if (positionals.includes('latency')) await runLatency(options);
  if (positionals.includes('relay')) await runRelay(options);
}

async function runRelist({ values, full, keep }: RunOptions): Promise<void> {
  const facts = readMachineFacts();
  const figures = await runRelistBenchmark({
    sizes: (values.sizes ?? '110,1000,5000,10000').split(',').map(toCount),
    minRounds: toCount(values.rounds ?? '30'),
    budgetMs: full ? 120_000 : 15_000,
    probeRounds: full ? 30 : 10,
    progress: new Progress(),
  });
  const section = formatRelistReport(figures, facts);
  process.stdout.write(`## Relist\n\n${section}\n`);
  if (keep) await writeResults('relist', 'Relist', { facts, figures }, section);
}

async function runLatency({ values, full, keep }: RunOptions): Promise<void> {
  const facts = readMachineFacts();
  const figures = await runLatencyBenchmark({
    releases: (values.releases ?? '2.1').split(',').map(toRelease),
    deaths: toCount(values.deaths ?? (full ? '100' : '20')),
    progress: new Progress(),
  });
  const section = formatLatencyReport(figures, facts);
  process.stdout.write(`## Latency\n\n${section}\n`);
  if (keep) await writeResults('latency', 'Latency', { facts, figures }, section);
}

async function runRelay({ values, full, keep }: RunOptions): Promise<void> {
  const facts = readMachineFacts();
  const figures = await runRelayBenchmark({
    minRounds: toCount(values.rounds ?? '30'),
    budgetMs: full ? 60_000 : 10_000,
    progress: new Progress(),
  });
  const section = formatRelayReport(figures, facts);
  process.stdout.write(`## Relay\n\n${section}\n`);
  if (keep) await writeResults('relay', 'Relay', { facts, figures }, section);
}

function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`"${text}" is not a whole number above 0`);
  return count;
}

function toRelease(text: string): Release {
  const release = RELEASES.find((known) => known === text);
  if (release === undefined) throw new Error(`containerd "${text}" is none of ${RELEASES.join(', ')}`);
  return release;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
