import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type Measurements } from '#kube/node/recorded-timeline.js';

/** A line of `samples.jsonl`. */
type Sample = Readonly<Record<string, unknown>>;

/** A chart has about so many pixels. */
const MAX_POINTS = 1_500;

/** Each chart, and the value of each of its lines in a sample. */
const CHARTS: readonly {
  readonly title: string;
  readonly unit: Measurements['charts'][number]['unit'];
  readonly lines: readonly (readonly [string, (sample: Sample) => number | null])[];
}[] = [
  {
    title: 'Lists of the runtime',
    unit: 'ms',
    lines: [
      ['longest', ({ longestListMs, listInFlightMs }) => largest(longestListMs, listInFlightMs)],
      ['usual', ({ usualListMs }) => largest(usualListMs)],
    ],
  },
  {
    title: 'Calls without an answer',
    unit: 'ms',
    lines: [['the oldest', ({ callsInFlight }) => Math.max(0, ...agesOf(callsInFlight))]],
  },
  {
    title: 'Time in which all processes waited',
    unit: 'percent',
    lines: [
      ['for disks', ({ ioFull }) => largest(ioFull)],
      ['for memory', ({ memoryFull }) => largest(memoryFull)],
    ],
  },
  {
    title: 'Stuck and stopped',
    unit: 'count',
    lines: [
      ['stuck pods', ({ stuckPodCount }) => largest(stuckPodCount)],
      [
        'stopped processes',
        ({ stoppedShims, stoppedDaemons }) => (largest(stoppedShims) ?? 0) + (largest(stoppedDaemons) ?? 0),
      ],
    ],
  },
];

/**
 * What was measured during an incident, from the lines of its `samples.jsonl`; undefined if there is nothing.
 *
 * Of many samples the largest value of each few is shown, so that none that stood out is lost. Lines that cannot be read are
 * left out, as the last one of an observer that was killed.
 */
export function readMeasurements(text: string): Measurements | undefined {
  const samples = text.split('\n').flatMap((line) => {
    const sample: Sample | undefined = parseJsonObject(line);
    const at = sample?.['at'];
    const atMs = typeof at === 'string' ? Date.parse(at) : NaN;
    return sample?.['kind'] !== 'check' || Number.isNaN(atMs) ? [] : [{ atMs, sample }];
  });
  if (samples.length === 0) return undefined;
  const size = Math.ceil(samples.length / MAX_POINTS);
  const groups = Array.from({ length: Math.ceil(samples.length / size) }, (_, at) =>
    samples.slice(at * size, (at + 1) * size),
  );
  return {
    timesMs: groups.map(([first]) => first!.atMs),
    charts: CHARTS.map(({ title, unit, lines }) => ({
      ...{ title, unit },
      lines: lines.map(([label, valueOf]) => ({
        label,
        values: groups.map((group) => largest(...group.map(({ sample }) => valueOf(sample)))),
      })),
    })),
  };
}

/** Of those that are numbers; null if none is. */
function largest(...values: readonly unknown[]): number | null {
  const numbers = values.filter((value) => typeof value === 'number');
  return numbers.length === 0 ? null : Math.max(...numbers);
}

function agesOf(calls: unknown): number[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: { readonly ageMs?: unknown } | null) =>
    typeof call?.ageMs === 'number' ? [call.ageMs] : [],
  );
}
