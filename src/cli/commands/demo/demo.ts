import { Command, Option } from 'commander';
import { tmpdir } from 'node:os';
import { relative } from 'node:path';
import { type Agent } from '#node';
import { Demo } from './story/demo.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { createEventPrinter, OUTPUT_FORMATS, type OutputFormat } from '../../shared/events/event-printer.js';
import { createLogger } from '../../shared/log/log-output.js';
import { wrapNotes } from '../../help-layout.js';

interface DemoFlags {
  readonly once: boolean;
  readonly output?: OutputFormat;
}

const HELP = `
On a terminal one screen shows the pods and what happens to them. Else, or with -o, events go to standard output, and
what is being done to standard error. Everything lives in a temporary folder and is removed at the end: processes,
pods, files.

Keys of the screen: arrows or j k select a pod, Enter shows its details, l logs, s a shell; / searches, ? lists all keys,
q ends the demo.

Examples:
  # Watch five pods live until Ctrl-C
  podloop demo examples/pods

  # End by itself when all has been shown, and print JSON
  podloop demo examples/pods --once -o json`;

/** `podloop demo`: example pods under a node agent on an embedded runtime. */
export function demoCommand(host: CliHost): Command {
  return new Command('demo')
    .description('Run a folder of example pods with a node agent and a runtime that are there for it alone.')
    .argument('<folder>', 'Folder of v1 Pod manifests')
    .option('--once', 'Exit when everything has been shown, instead of at Ctrl-C', false)
    .addOption(
      new Option('-o, --output <format>', 'Output format of events')
        .choices(OUTPUT_FORMATS)
        .default(undefined, 'one screen on a terminal, else text'),
    )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (folder: string, flags: DemoFlags) => runDemo(folder, flags, host));
}

/** Where a demo says what it does, and shows its agent. */
interface DemoView extends Disposable {
  readonly log: Logger;
  say(sentence: string): void;
  /** Resolves when the agent's events end. */
  show(demo: Demo): Promise<void>;
}

async function runDemo(manifestFolder: string, flags: DemoFlags, host: CliHost): Promise<void> {
  const { clock, pid, stdin, selfCommand } = host;
  const interrupted = AbortSignal.any([host.listenForInterrupts(), host.stdout.ended]);
  let lastSaid: string | undefined;
  try {
    using view = await openView(flags, host, interrupted);
    const say = (sentence: string): void => {
      lastSaid = sentence;
      view.say(sentence);
    };
    const demo = await Demo.start(
      {
        ...{ manifestFolder, temporaryFolder: tmpdir(), podloopCommand: selfCommand },
        ...{ path: host.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin', once: flags.once },
        ...{ clock, pid, stdin, logger: view.log, say },
      },
      interrupted,
    );
    say(`an embedded runtime listens at ${demo.agent.runtime.url}`);
    const showing = view.show(demo);
    try {
      if (!flags.once) say('Ctrl-C ends it');
      await demo.play(interrupted);
    } finally {
      await demo.close();
      await showing;
    }
  } catch (error) {
    // Ended while it was still starting.
    if (error !== interrupted.reason) throw error;
  }
  // What the screen said is gone with it.
  if (isOnScreen(flags, host) && lastSaid !== undefined) await host.stderr.writeLine(`demo: ${lastSaid}`);
}

function isOnScreen({ output }: DemoFlags, { terminal }: CliHost): boolean {
  return terminal !== undefined && output === undefined;
}

async function openView(flags: DemoFlags, host: CliHost, signal: AbortSignal): Promise<DemoView> {
  const logger = createLogger(host, 0);
  const { terminal } = host;
  if (terminal === undefined || !isOnScreen(flags, host)) return linesView(flags, logger, host);
  const { AgentScreen } = await import('../../shared/screen/agent-screen.js');
  const screen = new AgentScreen({
    ...{ host, terminal, signal, title: 'podloop demo   starting …' },
    // What goes wrong in a demo is shown on the screen, and of no interest afterwards.
    logger: SILENT_LOGGER,
    quitHelp: 'end the demo: pods, runtime and files are removed',
  });
  return {
    log: screen.log,
    say: (sentence) => screen.say(sentence),
    show: async ({ agent, stories }) => {
      const { name, version } = agent.runtime;
      const title = `podloop demo   node ${agent.identity.name}   ${name} ${version}   q or Ctrl-C ends it`;
      return screen.follow(agent, { title, hints: whatToType(agent, host), about: stories });
    },
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  };
}

/** Where the agent is reached, and what to type in another terminal for that. */
function whatToType({ socket }: Agent, { selfCommand: [program, ...script] }: CliHost): string[] {
  const near = script.map((file) => (relative('', file).startsWith('..') ? file : relative('', file)));
  const node = near.length > 0 && program.endsWith('/node') ? 'node' : program;
  return [
    `Socket  ${socket}`,
    `Type    export PODLOOP_SOCKET=${socket}`,
    `        ${[node, ...near].join(' ')} get pods   # in another terminal`,
  ];
}

function linesView({ output = 'text', once }: DemoFlags, logger: Logger, host: CliHost): DemoView {
  const print = createEventPrinter(output, host.pid);
  return {
    // The events already show what the agent does.
    log: { ...SILENT_LOGGER, warn: logger.warn.bind(logger), error: logger.error.bind(logger) },
    say: (sentence) => void host.stderr.writeLine(`demo: ${sentence}`),
    show: async ({ agent, stories }) => {
      const { stderr } = host;
      for (const [pod, story] of stories) await stderr.writeLine(`demo: ${pod}: ${story}`);
      // One that ends by itself is over before anybody has typed.
      if (!once) for (const line of whatToType(agent, host)) await stderr.writeLine(`demo: ${line}`);
      for await (const event of agent.subscribe()) {
        // The others only ask a reader to look again.
        if ('containerId' in event) await host.stdout.writeLine(print(event));
      }
    },
    [Symbol.dispose]: () => undefined,
  };
}
