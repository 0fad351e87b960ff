import { Command, CommanderError } from 'commander';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { printAsRoot } from './as-root.js';
import { type CliHost } from './cli-host.js';
import { CommandFailure } from './command-failure.js';
import { helpLayout, wrapNotes } from './help-layout.js';
import { escapeTerminal } from './shared/print/terminal-text.js';
import { toSwitches } from './switch-flags.js';
import { toUsageError } from './usage-error.js';
import { packageVersion } from '#base/package-version.js';

/** A subcommand whose code is not loaded yet. */
export interface LazyCommand {
  readonly name: string;
  readonly summary: string;
  /** Exit code for a usage error, if 1 has another meaning for the command (default: 1). */
  readonly usageExitCode?: number;
  readonly load: (host: CliHost) => Promise<Command>;
}

/** Every command, in the order of the help. */
export const COMMANDS: readonly LazyCommand[] = [
  {
    name: 'run',
    summary: 'Keep the pods of a folder of manifests running: the node agent',
    load: async (host) => (await import('./commands/run/run.js')).runCommand(host),
  },
  {
    name: 'up',
    summary: 'Run the pods of a folder of manifests in the background',
    load: async (host) => (await import('./commands/up/up.js')).upCommand(host),
  },
  {
    name: 'down',
    summary: 'End the pods of a folder of manifests, and the agent that runs them',
    load: async (host) => (await import('./commands/down/down.js')).downCommand(host),
  },
  {
    name: 'ps',
    summary: 'List the node agents that run on this machine',
    load: async (host) => (await import('./commands/ps/ps.js')).psCommand(host),
  },
  {
    name: 'watch',
    summary: 'Show what happens to every pod of a container runtime, as it happens; changes nothing',
    load: async (host) => (await import('./commands/watch/watch.js')).watchCommand(host),
  },
  {
    name: 'observe',
    summary: 'Watch a node for good, beside any kubelet: history, metrics and a socket; changes nothing',
    load: async (host) => (await import('./commands/observe/observe.js')).observeCommand(host),
  },
  {
    name: 'incidents',
    summary: 'List what was wrong with a node, from begin to end, as "podloop observe" recorded it',
    load: async (host) => (await import('./commands/incidents/incidents.js')).incidentsCommand(host),
  },
  {
    name: 'incident',
    summary: 'Show or export an incident that "podloop observe" recorded',
    load: async (host) => (await import('./commands/incident/incident.js')).incidentCommand(host),
  },
  {
    name: 'top',
    summary: 'Show what pods or the node use, or live where relists spend their time',
    load: async (host) => (await import('./commands/top/top.js')).topCommand(host),
  },
  {
    name: 'stats',
    summary: 'Show live what pods use: CPU, memory, network, disks and processes',
    load: async (host) => (await import('./commands/stats/show-stats.js')).statsCommand(host),
  },
  {
    name: 'demo',
    summary: 'Run a folder of example pods with an agent and a runtime of their own, and show what happens',
    load: async (host) => (await import('./commands/demo/demo.js')).demoCommand(host),
  },
  {
    name: 'validate',
    summary: 'Check Pod manifests and report every problem',
    load: async (host) => (await import('./commands/validate/validate.js')).validateCommand(host),
  },
  {
    name: 'explain',
    summary: 'Show the fields that manifests may have, and what podloop does with them',
    load: async (host) => (await import('./commands/explain/explain.js')).explainCommand(host),
  },
  {
    name: 'get',
    summary: 'Show pods and other objects of a running agent',
    load: async (host) => (await import('./commands/get/get.js')).getCommand(host),
  },
  {
    name: 'events',
    summary: 'Show what happened on a node, even before the agent restarted or while it is down',
    load: async (host) => (await import('./commands/events/events.js')).eventsCommand(host),
  },
  {
    name: 'blame',
    summary: 'Show where the starts of pods spent their time, the longest first',
    load: async (host) => (await import('./commands/blame/blame.js')).blameCommand(host),
  },
  {
    name: 'web',
    summary: 'Show a running agent on a page in the browser',
    load: async (host) => (await import('./commands/web/web.js')).webCommand(host),
  },
  {
    name: 'describe',
    summary: 'Show everything that a running agent knows about a pod',
    load: async (host) => (await import('./commands/describe/describe.js')).describeCommand(host),
  },
  {
    name: 'apply',
    summary: 'Create or change objects of a running agent from manifests',
    load: async (host) => (await import('./commands/apply/apply.js')).applyCommand(host),
  },
  {
    name: 'create',
    summary: 'Create objects of a running agent from manifests; fails for those that are there',
    load: async (host) => (await import('./commands/apply/apply.js')).createCommand(host),
  },
  {
    name: 'diff',
    summary: 'Show what applying manifests would change',
    // 1 says that there are differences.
    usageExitCode: 2,
    load: async (host) => (await import('./commands/diff/diff.js')).diffCommand(host),
  },
  {
    name: 'edit',
    summary: 'Edit objects of a running agent with an editor',
    load: async (host) => (await import('./commands/edit/edit.js')).editCommand(host),
  },
  {
    name: 'patch',
    summary: 'Change some fields of an object of a running agent',
    load: async (host) => (await import('./commands/patch/patch.js')).patchCommand(host),
  },
  {
    name: 'set',
    summary: 'Set the images or variables of containers of a running agent',
    load: async (host) => (await import('./commands/patch/set.js')).setCommand(host),
  },
  {
    name: 'label',
    summary: 'Set or remove labels of objects of a running agent',
    load: async (host) => (await import('./commands/patch/label.js')).metadataCommand('label', host),
  },
  {
    name: 'annotate',
    summary: 'Set or remove annotations of objects of a running agent',
    load: async (host) => (await import('./commands/patch/label.js')).metadataCommand('annotate', host),
  },
  {
    name: 'delete',
    summary: 'Stop pods of a running agent until their manifests change',
    load: async (host) => (await import('./commands/delete/delete.js')).deleteCommand(host),
  },
  {
    name: 'stop',
    summary: 'Stop pods of a running agent until they are started again',
    load: async (host) => (await import('./commands/stop/stop.js')).stopCommand(host),
  },
  {
    name: 'start',
    summary: 'Start pods that were stopped or deleted, or list them',
    load: async (host) => (await import('./commands/start/start.js')).startCommand(host),
  },
  {
    name: 'restart',
    summary: 'Restart pods: end all of their containers, and run them again',
    load: async (host) => (await import('./commands/restart/restart.js')).restartCommand(host),
  },
  {
    name: 'volumes',
    summary: 'List the volumes of claims on this node, or remove them',
    load: async (host) => (await import('./commands/volumes/volumes.js')).volumesCommand(host),
  },
  {
    name: 'rollout',
    summary: 'Replace the pods of workloads, or wait until they are replaced',
    load: async (host) => (await import('./commands/restart/rollout.js')).rolloutCommand(host),
  },
  {
    name: 'scale',
    summary: 'Set how many pods a Deployment, ReplicaSet or StatefulSet has',
    load: async (host) => (await import('./commands/scale/scale.js')).scaleCommand(host),
  },
  {
    name: 'wait',
    summary: 'Wait until pods and other objects of a running agent are as wanted',
    load: async (host) => (await import('./commands/wait/wait.js')).waitCommand(host),
  },
  {
    name: 'logs',
    summary: 'Print the logs of containers, of one pod or several',
    load: async (host) => (await import('./commands/logs/logs.js')).logsCommand(host),
  },
  {
    name: 'exec',
    summary: 'Run a command in a container',
    load: async (host) => (await import('./commands/exec/exec.js')).execCommand(host),
  },
  {
    name: 'attach',
    summary: 'Attach to the main process of a container',
    load: async (host) => (await import('./commands/attach/attach.js')).attachCommand(host),
  },
  {
    name: 'debug',
    summary: 'Debug a pod that runs, with a container that joins it',
    load: async (host) => (await import('./commands/debug/debug.js')).debugCommand(host),
  },
  {
    name: 'port-forward',
    summary: 'Forward ports of this machine to a pod',
    load: async (host) => (await import('./commands/port-forward/port-forward.js')).portForwardCommand(host),
  },
  {
    name: 'cp',
    summary: 'Copy files and folders to and from containers',
    load: async (host) => (await import('./commands/cp/cp.js')).cpCommand(host),
  },
  {
    name: 'images',
    summary: 'List the images of a container runtime',
    load: async (host) => (await import('./commands/image/image-commands.js')).imagesCommand(host),
  },
  {
    name: 'pull',
    summary: 'Pull an image into a container runtime',
    load: async (host) => (await import('./commands/image/image-commands.js')).pullCommand(host),
  },
  {
    name: 'load',
    summary: 'Load images from an archive into the runtime in the box',
    load: async (host) => (await import('./commands/image/image-commands.js')).loadCommand(host),
  },
  {
    name: 'save',
    summary: 'Save images of the runtime in the box into an archive',
    load: async (host) => (await import('./commands/image/image-commands.js')).saveCommand(host),
  },
  {
    name: 'rmi',
    summary: 'Remove images from a container runtime',
    load: async (host) => (await import('./commands/image/image-commands.js')).removeImageCommand(host),
  },
  {
    name: 'prune',
    summary: 'Remove images that no container uses',
    load: async (host) => (await import('./commands/image/image-commands.js')).pruneCommand(host),
  },
  {
    name: 'image',
    summary: 'Inspect images; and the commands above under docker’s other names',
    load: async (host) => (await import('./commands/image/image-commands.js')).imageCommand(host),
  },
  {
    name: 'doctor',
    summary: 'Report what is wrong with this node, with evidence and remedies',
    // 1 says that there are warnings.
    usageExitCode: 3,
    load: async (host) => (await import('./commands/doctor/doctor.js')).doctorCommand(host),
  },
  {
    name: 'runtime',
    summary: 'Run the embedded container runtime: pods as processes of this machine, behind a CRI socket',
    load: async (host) => (await import('./commands/runtime/runtime.js')).runtimeCommand(host),
  },
  {
    name: 'chaos',
    summary:
      'Make a node misbehave on purpose: a CRI proxy that injects latency, errors, hangs and lost events',
    load: async (host) => (await import('./commands/chaos/chaos.js')).chaosCommand(host),
  },
  {
    name: 'record',
    summary:
      'Record the calls of a container runtime and their answers, without secrets, to analyze them elsewhere',
    load: async (host) => (await import('./commands/record/record.js')).recordCommand(host),
  },
  {
    name: 'replay',
    summary: 'Serve a recording as a container runtime, or print a summary of it',
    load: async (host) => (await import('./commands/replay/replay.js')).replayCommand(host),
  },
  {
    name: 'relay',
    summary: 'Serve a socket of a container runtime that lets only calls through that read',
    load: async (host) => (await import('./commands/relay/relay.js')).relayCommand(host),
  },
  {
    name: 'version',
    summary: 'Show the versions of this program and of the running agent',
    load: async (host) => (await import('./commands/version/show-version.js')).versionCommand(host),
  },
  {
    name: 'completion',
    summary: 'Print the shell completion script',
    load: async (host) => (await import('./commands/completion/completion.js')).completionCommand(host),
  },
];

/** The hidden command that the scripts of `podloop completion` call. */
const COMPLETE = '__complete';

const EXAMPLES = `
Examples:
  # See every change of every pod on this node
  podloop watch

  # One line of JSON for each event, for a program to read
  podloop watch -o json

  # Try it without a container runtime
  podloop demo examples/pods

  # What runs, and what one of the pods prints
  podloop get pods
  podloop logs -f web

Use "podloop <command> --help" for more about a command.`;

/**
 * Runs the command that `args` name and returns the exit code.
 *
 * A failure returns another code than 0, mostly 1, after an error line on standard error. Only the code of that
 * command is loaded.
 */
export async function runProgram(args: readonly string[], host: CliHost): Promise<number> {
  try {
    if (args[0] === COMPLETE) {
      await (
        await import('./commands/completion/complete-words.js')
      ).completeWords(args.slice(1), COMMANDS, host);
      return 0;
    }
    const program = await buildProgram(args, host);
    if (args.length === 0) {
      program.outputHelp();
      await host.stdout.assertWritten();
    } else {
      // Commander prints the whole help for an unknown command, without an error.
      const [first, second] = args;
      const isUnknown = first === 'help' && second !== undefined && findCalled(args) === undefined;
      const words = isUnknown && second !== 'help' ? [second] : args;
      await program.parseAsync(toSwitches(words, program.commands), { from: 'user' });
    }
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) return await printError(error, host);
    // Commander has already printed its message; help and version end here too, with exit code 0.
    if (error.exitCode !== 0) return findCalled(args)?.usageExitCode ?? 1;
    return await host.stdout.assertWritten().then(
      () => 0,
      async (unwritten: unknown) => printError(unwritten, host),
    );
  }
}

/** Prints the error and resolves with the exit code. */
async function printError(error: unknown, host: CliHost): Promise<number> {
  // The error has to be the last line, after all log lines.
  await host.log?.settle?.();
  if (error instanceof CommandFailure) {
    for (const line of error.lines) await host.stderr.writeLine(escapeTerminal(line));
    if (error.needsRoot) await printAsRoot(host);
    return error.exitCode;
  }
  // The message becomes one line, as text from a runtime may contain line breaks.
  const words = escapeTerminal(messageOf(error).replaceAll(/\s+/g, ' ').trim());
  await host.stderr.writeLine(`error: ${words}`);
  if (error instanceof PodloopError && error.code === 'ENDPOINT_PERMISSION_DENIED') await printAsRoot(host);
  return 1;
}

async function buildProgram(args: readonly string[], host: CliHost): Promise<Command> {
  const program = new Command('podloop');
  const path = (): string => (called === undefined ? 'podloop' : `podloop ${called.name}`);
  program
    .description('A Kubernetes-style node agent that sees every change of every pod.')
    .version(`podloop ${packageVersion()}`, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show this help')
    .helpCommand('help [command]', 'Show the help of a command')
    .addHelpText('after', wrapNotes(EXAMPLES))
    .exitOverride()
    .configureHelp(helpLayout())
    .configureOutput({
      getOutHelpWidth: () => host.window?.columns ?? 80,
      writeOut: (text) => void host.stdout.writeLine(text.replace(/\n$/, '')),
      writeErr: (text) => void host.stderr.writeLine(text.replace(/\n$/, '')),
      outputError: (text, write) => write(toUsageError(text, path())),
    });
  const called = findCalled(args);
  for (const command of COMMANDS) {
    if (command === called) {
      const loaded = (await command.load(host)).copyInheritedSettings(program);
      // A command of a command ends and prints like its parent.
      for (const nested of loaded.commands) nested.copyInheritedSettings(loaded);
      program.addCommand(loaded);
    } else program.command(command.name).description(command.summary);
  }
  return program;
}

/** The command to run or to print the help of. */
function findCalled(args: readonly string[]): LazyCommand | undefined {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const word = words[0] === 'help' ? words[1] : words[0];
  return COMMANDS.find(({ name }) => name === word);
}
