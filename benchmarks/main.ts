/**
 * `npm run bench`: runs the benchmarks and writes down what they found.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { readMachineFacts } from './machine-facts.js';
import { Progress } from './progress.js';
import { runRelistBenchmark } from './relist/relist-benchmark.js';
import { formatRelistReport } from './relist/relist-report.js';
import { writeResults } from './results-page.js';

const HELP = `Usage: npm run bench -- [options] [relist]

  relist      idle relists next to the bare list calls, on a synthetic runtime
  (no name)   all that needs no container runtime

Options:
  --full      more rounds, and the results are kept: benchmarks/results/*.json and benchmarks/RESULTS.md
  --sizes N,N containers on the node, for relist (default 110,1000,5000,10000)
  --rounds N  timed rounds of each size, for relist (default 30, with --full 60)
  --keep      keep the results without --full
  --help      this text

Tables go to stdout, progress to stderr.
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      sizes: { type: 'string', default: '110,1000,5000,10000' },
      rounds: { type: 'string' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const unknown = positionals.find((name) => name !== 'relist');
  if (unknown !== undefined) throw new Error(`there is no benchmark "${unknown}"; see --help`);

  const facts = readMachineFacts();
  const figures = await runRelistBenchmark({
    sizes: values.sizes.split(',').map(toCount),
    rounds: toCount(values.rounds ?? (values.full ? '60' : '30')),
    probeRounds: values.full ? 30 : 10,
    progress: new Progress(),
  });
  const section = formatRelistReport(figures, facts);
  process.stdout.write(`## Relist\n\n${section}`);
  if (values.full || values.keep) await writeResults('relist', 'Relist', { facts, figures }, section);
}

function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`"${text}" is not a whole number above 0`);
  return count;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
