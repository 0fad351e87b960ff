import { Command, Option } from 'commander';
import { tmpdir } from 'node:os';
import { Demo } from '../agent/demo.js';
import { type CliHost } from './cli-host.js';
import { createEventPrinter, OUTPUT_FORMATS, type OutputFormat } from './event-printer.js';

interface DemoFlags {
  readonly once: boolean;
  readonly output: OutputFormat;
}

const HELP = `
Events go to standard output, what is being done to standard error. Everything lives in a temporary folder and is
removed at the end: processes, pods, files.

Examples:
  # Watch five pods live until Ctrl-C
  podloop demo examples/pods

  # End by itself when all has been shown, and print JSON
  podloop demo examples/pods --once -o json`;

/** `podloop demo`: example pods on an embedded runtime, and their events. */
export function demoCommand(host: CliHost): Command {
  return new Command('demo')
    .description('Live a folder of example pods through on an embedded runtime and show their events.')
    .argument('<folder>', 'Folder of v1 Pod manifests')
    .option('--once', 'End when nothing happens any more, instead of at Ctrl-C', false)
    .addOption(
      new Option('-o, --output <format>', 'How events are printed').choices(OUTPUT_FORMATS).default('text'),
    )
    .addHelpText('after', HELP)
    .action(async (folder: string, flags: DemoFlags) => runDemo(folder, flags, host));
}

async function runDemo(manifestFolder: string, flags: DemoFlags, host: CliHost): Promise<void> {
  const interrupted = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  const say = (sentence: string): void => void host.stderr.writeLine(`demo: ${sentence}`);
  try {
    const demo = await Demo.start(
      {
        manifestFolder,
        temporaryFolder: tmpdir(),
        podloopCommand: host.selfCommand,
        path: host.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
        clock: host.clock,
        pid: host.pid,
        once: flags.once,
        say,
      },
      interrupted,
    );
    say(`an embedded runtime listens at ${demo.observer.endpoint}`);
    const printing = printEvents(demo, flags.output, host);
    try {
      if (!flags.once) say('Ctrl-C ends it');
      await demo.play(interrupted);
    } finally {
      await demo.close();
      await printing;
    }
  } catch (error) {
    // Ended while it was still starting.
    if (error !== interrupted.reason) throw error;
  }
}

async function printEvents(demo: Demo, format: OutputFormat, host: CliHost): Promise<void> {
  const print = createEventPrinter(format, host.pid);
  for await (const event of demo.observer.subscribe()) await host.stdout.writeLine(print(event));
}
