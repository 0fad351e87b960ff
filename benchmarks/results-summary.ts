import { type KeptResult } from './kept-result.js';

/** A goal that compares podloop with a kubelet, read from its words. */
interface ComparedGoal {
  readonly title: string;
  readonly what: string;
  readonly ratio: string;
  readonly low: number;
  readonly high: number;
}

/** As `judgeComparisons` writes it: `0.950 [0.858, 1.147] times the kubelet’s`, or one number where all turns agree. */
const RATIO = /^(?<value>[\d.]+|∞)(?: \[(?<low>[\d.]+|∞), (?<high>[\d.]+|∞)\])? times the kubelet’s/;

/**
 * The five lines that the page begins with: where podloop is better than a kubelet, equal and worse, what was not
 * judged, and how to read the page. Pure.
 *
 * A ratio is better when its whole interval is below 1, worse when all of it is above 1, and equal otherwise.
 */
export function summarizeResults(
  results: readonly Pick<KeptResult, 'title' | 'goals'>[],
  missing: readonly { readonly title: string }[],
): string {
  const compared = results.flatMap(({ title, goals }) =>
    goals.filter(({ met }) => met !== undefined).flatMap((goal) => readComparison(title, goal) ?? []),
  );
  const better = compared.filter(({ high }) => high < 1);
  const worse = compared.filter(({ low }) => low > 1);
  const equal = compared.filter((each) => !better.includes(each) && !worse.includes(each));
  const unjudged = results.flatMap(({ title, goals }) => {
    const count = goals.filter(({ met }) => met === undefined).length;
    return count === 0 ? [] : `${title}: ${count} ${count === 1 ? 'goal' : 'goals'}`;
  });
  const lines = [
    ['Better than the kubelet', listComparisons(better)],
    ['Equal', listComparisons(equal)],
    ['Worse', listComparisons(worse)],
    ['Not judged', join([...unjudged, ...missing.map(({ title }) => `${title}: not run yet`)])],
    [
      'How to read it',
      'a number is podloop’s divided by that of the better of two kubelets, one that only lists and one with events on, so less ' +
        'is better; brackets hold its interval. “Equal” means that the interval holds 1. Goals without such a number are ' +
        'in the table.',
    ],
  ] as const;
  return lines.map(([name, text]) => `- **${name}:** ${text}`).join('\n');
}

function readComparison(
  title: string,
  { what, measured }: { readonly what: string; readonly measured: string },
): ComparedGoal | undefined {
  const groups = RATIO.exec(measured)?.groups;
  if (groups === undefined) return undefined;
  const { value = '', low = value, high = value } = groups;
  const ratio = low === high ? value : `${value} [${low}, ${high}]`;
  return { title, what, ratio, low: toNumber(low), high: toNumber(high) };
}

function toNumber(text: string): number {
  return text === '∞' ? Number.POSITIVE_INFINITY : Number(text);
}

/** `one pod, created to Ready 0.514 [0.489, 0.520]`, after the scenario's title where it changes. */
function listComparisons(compared: readonly ComparedGoal[]): string {
  const titles = [...new Set(compared.map(({ title }) => title))];
  return join(
    titles.map((title) => {
      const own = compared.filter((each) => each.title === title);
      return `${title.replace(/^Beside the kubelet,? /, '')}: ${own.map(({ what, ratio }) => `${what} ${ratio}`).join('; ')}`;
    }),
  );
}

function join(parts: readonly string[]): string {
  return parts.length === 0 ? 'nothing.' : `${parts.join('. ')}.`;
}
