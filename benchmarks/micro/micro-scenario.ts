import { formatEstimate, formatNumber, ratioAtMost } from '../goals.js';
import { type Scenario, toCount } from '../scenario.js';
import { count } from '../setting-shapes.js';
import { formatTable } from '../text-table.js';
import { CONTAINERS_PER_POD, type MicroFigures, runMicroBenchmark } from './micro-benchmark.js';

/** Reading a list may take so many times as long as by hand. */
const DECODE_LIMIT = 1.3;

/** What a relist is made of. */
export const MICRO: Scenario = {
  name: 'micro',
  title: 'Micro',
  about: 'decode, convert, diff, cache; allocation and profile of an idle relist',
  runtimes: 'synthetic, in a process of its own',
  needs: [],
  fullMinutes: 3,
  settings: [
    {
      name: 'containers',
      takes: count({ most: 50_000, multipleOf: CONTAINERS_PER_POD }),
      placeholder: 'N',
      about: 'containers on the node',
      short: '1000',
      full: '5000',
    },
    {
      name: 'samples',
      takes: count({ most: 10_000 }),
      placeholder: 'N',
      about: 'rounds of each operation',
      short: '30',
      full: '60',
    },
  ],
  run: async ({ setting, progress, signal }) => {
    const figures = await runMicroBenchmark({
      containers: toCount(setting('containers')),
      rounds: toCount(setting('samples')),
      ...{ progress, signal },
    });
    return {
      figures,
      text: formatMicroReport(figures),
      goals: [
        ratioAtMost({
          what: `reading id and state of ${figures.containers} containers`,
          ...{ ratio: figures.decodeRatio, limit: DECODE_LIMIT },
          of: 'a scan written by hand that compares by bytes',
          rounds: figures.decodeRounds.product.length,
        }),
      ],
    };
  },
};

function formatMicroReport(figures: MicroFigures): string {
  const { containers, decodeRatio, decodeMs, handWrittenMs, tableRatio, tableMs } = figures;
  const { allocated, profile, profileParts, operations } = figures;
  return `Reading id and state of ${containers} containers from one answer and comparing them with what is known takes ${decodeMs.toFixed(2)} ms. A scan
written by hand that does this and nothing else, ids found by their bytes, takes ${handWrittenMs.toFixed(2)} ms: podloop takes ${formatEstimate(decodeRatio)}
times as long. A decoder written by hand that makes a table of ids and states takes ${tableMs.toFixed(2)} ms: podloop takes
${formatEstimate(tableRatio)} times as long. An idle relist allocates ${formatNumber(allocated.relist)} bytes of heap for
each container, the bare list calls read by hand ${formatNumber(allocated.bareLists)} (sampled).

${formatTable(
  ['operation', 'a second'],
  operations.map(({ name, perSecond }) => [name, Math.round(perSecond).toLocaleString('en')]),
)}

Where the main thread's time goes in idle relists of ${containers} containers, the list calls included:

${formatTable(
  ['whose', 'share'],
  profileParts.map(({ name, share }) => [name, `${(100 * share).toFixed(1)} %`]),
)}

${formatTable(
  ['function', 'share'],
  profile.map(({ name, share }) => [`\`${name}\``, `${(100 * share).toFixed(1)} %`]),
)}
`;
}
