import { basename } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  type CallSummary,
  readRecordingEvents,
  type RecordingSummary,
  ReplayServer,
  summarizeRecording,
} from '#proxy/record';
import { formatGoDuration } from '#base/time/go-duration.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { type CliHost } from '../../cli-host.js';
import { usageFailure } from '../../command-failure.js';
import { parseDurationFlag } from '../../shared/flag-values.js';
import { createLogger, verbosityOption } from '../../shared/log/log-output.js';
import { RecordedContent } from '../../shared/page/recorded-content.js';
import { toRecordingPage } from '../../shared/page/recorded-page.js';
import { pagePortOption, servePage } from '../../shared/page/serve-page.js';
import { wrapNotes } from '../../help-layout.js';
import { escapeTerminal, toCell } from '../../shared/print/terminal-text.js';

interface ReplayFlags {
  readonly listen?: string;
  readonly summary: boolean;
  readonly web: boolean;
  readonly port?: number;
  readonly speed: number;
  readonly from: number;
  readonly atEnd: 'pause' | 'loop' | 'exit';
  readonly output: 'text' | 'json';
  readonly verbosity: number;
}

const HELP = `
The time of the recording begins with the first call. What would change the node is answered as it was when the same was
asked, and refused otherwise. Ctrl-C ends it.

Examples:
  # What is in a recording: calls, what was slow, what hung, errors
  podloop replay node.plrec --summary

  # What happened in it, on a page in the browser with a timeline
  podloop replay node.plrec --web

  # The node of the recording as a runtime, at its own pace
  podloop replay node.plrec --listen unix:///tmp/replay/cri.sock

  # What podloop makes of it, and what crictl would have shown
  podloop watch --runtime-endpoint unix:///tmp/replay/cri.sock
  crictl --runtime-endpoint unix:///tmp/replay/cri.sock ps -a

  # From the twelfth minute on, at a tenth of the pace, again and again
  podloop replay node.plrec --listen unix:///tmp/replay/cri.sock --from 12m --speed 0.1 --at-end loop`;

/** `podloop replay`: a recording as a runtime, or in words. */
export function replayCommand(host: CliHost): Command {
  return new Command('replay')
    .description('Serve what "podloop record" has recorded as a container runtime, or say what is in it.')
    .argument('<file>', 'The recording')
    .option('--listen <endpoint>', 'unix:///path to listen at; only its owner may open it')
    .option('--summary', 'Print a summary of the recording instead of serving it', false)
    .option('--web', 'Show the recording on a page in the browser instead of serving it', false)
    .addOption(pagePortOption())
    .option('--speed <factor>', 'Speed of the replay, as a factor', parseSpeed, 1)
    .addOption(
      new Option('--from <duration>', 'Position in the recording at which to start')
        .argParser(parseDurationFlag)
        .default(0, '0s'),
    )
    .addOption(
      new Option(
        '--at-end <what>',
        'What happens at the end of the recording: pause (stay at its last moment), loop (start again), exit (end the program)',
      )
        .choices(['pause', 'loop', 'exit'])
        .default('pause'),
    )
    .addOption(
      new Option('-o, --output <format>', 'Output format of the summary')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(verbosityOption('4 is for debugging'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (file: string, flags: ReplayFlags) => {
      if (flags.web) await showPage(file, flags, host);
      else if (flags.summary) await printSummary(file, flags, host);
      else await serve(file, flags, host);
    });
}

async function printSummary(file: string, { output }: ReplayFlags, host: CliHost): Promise<void> {
  const signal = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  const summary: RecordingSummary = await summarizeRecording(file, signal);
  if (output === 'json') await host.stdout.writeLine(JSON.stringify(summary));
  else for (const line of formatRecordingSummary(summary)) await host.stdout.writeLine(line);
}

async function showPage(file: string, flags: ReplayFlags, host: CliHost): Promise<void> {
  const { listen, summary, port, speed, from: atMs } = flags;
  if (listen !== undefined || summary)
    throw usageFailure('use one of --web, --listen and --summary', 'replay');
  const signal = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  try {
    const recorded = await readRecordingEvents(file, { signal });
    if (atMs > recorded.durationMs)
      throw usageFailure(
        `the recording lasts ${duration(recorded.durationMs)}: it cannot begin at ${duration(atMs)}`,
        'replay',
      );
    const content = new RecordedContent(
      toRecordingPage(basename(file), recorded, { atMs, ...(speed === 1 ? {} : { speed }) }),
    );
    await servePage({ host, content, title: `The page of the recording ${file}`, port, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function serve(file: string, flags: ReplayFlags, host: CliHost): Promise<void> {
  const { listen, speed, from: fromMs, atEnd } = flags;
  if (listen === undefined)
    throw usageFailure(
      'say where to serve the recording (--listen), or ask for what is in it (--summary, --web)',
      'replay',
    );
  const logger = createLogger(host, flags.verbosity);
  const signal = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  try {
    await using replay = await ReplayServer.start({
      ...{ file, listen, speed, fromMs, atEnd, clock: host.clock, logger, signal },
    });
    const { meta, durationMs } = replay;
    logger.info('Replaying', {
      ...{
        endpoint: replay.endpoint,
        file,
        recorded: meta.startedAt,
        lasts: formatGoDuration(Math.round(durationMs)),
      },
    });
    const over = replay.ended.then(() =>
      logger.info('The recording is over', { position: formatGoDuration(replay.positionMs), atEnd }),
    );
    await Promise.race([untilAborted(signal), ...(atEnd === 'exit' ? [over] : [])]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (/^\d*\.?\d+$/.test(text) && speed >= 0.001 && speed <= 1_000) return speed;
  throw new InvalidArgumentError('use a number from 0.001 to 1000, such as 10 or 0.5');
}

/** A summary of a recording for people: what there was, then what hung, what was slow, what failed. */
function formatRecordingSummary(summary: RecordingSummary): string[] {
  const { startedAt, durationMs, mode, part, lost, methods, hangs, slowest, errors, events, pods } = summary;
  const calls = methods.reduce((sum, each) => sum + each.calls, 0);
  const how = mode === 'relay' ? 'in front of the runtime' : 'by podloop itself';
  const lines = [
    `Recorded ${toCell(startedAt)}, ${duration(durationMs)}, ${how}: ${toCell(summary.upstream)}`,
    `${calls} calls, ${events} events, ${pods.length} pods`,
    ...(part > 0 ? ['The recording had rolled: what was before is not in this file.'] : []),
    ...ENDS[summary.end],
    ...(lost > 0 ? [`${lost} calls and messages came faster than they could be recorded.`] : []),
    '',
    ...table(
      ['METHOD', 'CALLS', 'FAILED', 'HUNG', 'MEDIAN', 'LONGEST'],
      methods.map((each) => [
        ...[each.method, String(each.calls), String(each.failed), String(each.hung)],
        ...[duration(each.medianMs), duration(each.maxMs)],
      ]),
    ),
  ];
  if (hangs.length > 0) lines.push('', 'Never answered:', ...callTable(hangs));
  if (slowest.length > 0) lines.push('', 'Slowest:', ...callTable(slowest.slice(0, SLOWEST_SHOWN)));
  if (errors.length > 0) {
    const rows = errors.map(({ count, method, code, message }) => [
      String(count),
      method,
      code,
      toCell(message),
    ]);
    lines.push('', 'Errors:', ...table(['COUNT', 'METHOD', 'CODE', 'MESSAGE'], rows));
  }
  if (summary.unsupported.length > 0) {
    lines.push('', `Not offered by the runtime, as a first try has shown: ${summary.unsupported.join(', ')}`);
  }
  // What a runtime wrote may hold anything.
  return lines.map(escapeTerminal);
}

/** What is to be said of how it ended. */
const ENDS: Readonly<Record<RecordingSummary['end'], readonly string[]>> = {
  stopped: [],
  full: ['The recording was full: what came later is not in it.'],
  rolled: ['The recording has rolled: what came later is in the next file.'],
  'cut-off': ['The recording was cut off.'],
  shortened: ['The recording has more calls than are read: what came later is left out.'],
};

const SLOWEST_SHOWN = 10;

function callTable(calls: readonly CallSummary[]): string[] {
  return table(
    ['AT', 'FOR', 'METHOD', 'POD', 'ID'],
    calls.map(({ atMs, forMs, method, pod, podUid, subject }) => [
      ...[duration(atMs), duration(forMs), method, pod === '' ? '-' : pod],
      // A sandbox that was never made has no id.
      (subject === '' ? podUid : subject).slice(0, ID_SHOWN) || '-',
    ]),
  );
}

/** As crictl shortens ids. */
const ID_SHOWN = 13;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('   ')
      .trimEnd(),
  );
}

/** To the tenth of a millisecond, which is as much as it means. */
function duration(ms: number): string {
  return formatGoDuration(ms < 1_000 ? Math.round(ms * 10) / 10 : Math.round(ms));
}
