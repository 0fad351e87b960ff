import { formatEstimate, verdictOf } from '../goals.js';
import { formatTable } from '../text-table.js';
import { judgeRelay, TIME_LIMIT } from './judge-relay.js';
import { type RelayFigures } from './relay-benchmark.js';

/** The section of the results page. */
export function formatRelayReport(figures: readonly RelayFigures[]): string {
  return `Calls through the relay of frames, next to the same calls through a process that pipes bytes and sees nothing; each in a process
of its own, client and runtime the same. \`relay\` asks nobody about any call; \`chaos\` has a rule about another method; \`chaos by pod\` has one
about status calls of one pod, so that it holds each status call's request and learns from each list. Alternating rounds; brackets
hold the 95 % bootstrap interval of the ratio to the bare pipe. Within ${TIME_LIMIT} means that the interval of the means ends below it, which is
the goal. CPU is that
of the process in between, a run.

${formatTable(
  [
    'calls',
    'through',
    'bare p50 ms',
    'p50 ms',
    'means',
    'medians',
    `within ${TIME_LIMIT}`,
    'bare CPU ms',
    'CPU ms',
    'rounds',
  ],
  figures.map((one) => [
    one.load,
    one.kind,
    one.barePipeP50Ms.toFixed(2),
    one.p50Ms.toFixed(2),
    formatEstimate(one.ratioOfMeans),
    formatEstimate(one.ratioOfMedians),
    verdictOf(judgeRelay(one)),
    one.barePipeCpuMs.toFixed(3),
    one.cpuMs.toFixed(3),
    String(one.rounds),
  ]),
)}
`;
}
