#!/usr/bin/env node
/**
 * The program `podloop`: the only place that reads the process's arguments, environment, streams and signals.
 *
 * It makes a {@link CliHost} of them and hands it to the command that was asked for; what a command returns
 * becomes the exit code.
 *
 * @module
 */
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { SystemClock } from '#base/time/clock.js';
import { SourcePlaces } from '#base/log/source-places.js';
import { isSingleExecutable } from '#base/program/executable-files.js';
import { toRootCommand } from './as-root.js';
import { type CliHost } from './cli-host.js';
import { chooseEngineFlags, setEngineFlags } from './engine-flags.js';
import { exitAfterGrace } from './exit-after-grace.js';
import { type InterruptSource, listenForInterrupts } from './interrupts.js';
import { LineOutput } from './line-output.js';
import { isWrittenOnTheSpot, LogFile, withoutWaiting } from './log-file.js';
import { runProgram } from './program.js';
import { handleSuspension } from './suspension.js';
import { findTerminal, findWindow } from './terminal.js';
import { closeGoneTerminals } from './terminal-hangup.js';

/** Variables that systemd sets for one process of a service; child processes must not inherit them. */
const FOR_THIS_PROCESS_ALONE = ['NOTIFY_SOCKET', 'WATCHDOG_PID', 'WATCHDOG_USEC'];

const clock = new SystemClock();
const env = { ...process.env };
for (const name of FOR_THIS_PROCESS_ALONE) Reflect.deleteProperty(process.env, name);
/** The log on standard error, created at the first use; undefined if {@link CliHost.stderr} never blocks. */
let log: LogFile | undefined;
const signals: InterruptSource = {
  on: (signal, listener) => process.on(signal, listener),
  hasTerminal: [0, 1, 2].some((stream) => isatty(stream)),
};
const selfCommand: CliHost['selfCommand'] = isSingleExecutable()
  ? [process.execPath]
  : [process.execPath, fileURLToPath(import.meta.url)];
const host: CliHost = {
  env,
  pid: process.pid,
  clock,
  // Reading the property opens the stream, so only a command that needs it does.
  get stdin() {
    return process.stdin;
  },
  stdout: new LineOutput(process.stdout),
  stderr: new LineOutput(process.stderr),
  get log() {
    const { fd } = process.stderr;
    if (log === undefined && isWrittenOnTheSpot(fd)) {
      const file = new LogFile({ fd: withoutWaiting(fd), clock });
      log = file;
      process.on('exit', () => file.flush());
    }
    return log;
  },
  terminal: findTerminal(process.stdout, process, env),
  window: findWindow(process.stdout),
  selfCommand,
  get asRoot() {
    return process.getuid?.() === 0
      ? undefined
      : toRootCommand({ selfCommand, args: process.argv.slice(2), env });
  },
  listenForInterrupts: () => listenForInterrupts(signals, clock, (code) => process.exit(code)),
  onUserSignal: (listener) => {
    process.on('SIGUSR1', listener);
    return () => process.off('SIGUSR1', listener);
  },
  handleSuspension: (handlers) => handleSuspension(process, clock, handlers),
};

// Node prints the error afterwards.
process.on('uncaughtExceptionMonitor', (error: unknown) => {
  if (error instanceof Error) error.stack &&= new SourcePlaces().translate(error.stack);
});

setEngineFlags(chooseEngineFlags(process.versions.node, process.execArgv, process.argv[2]), process);
closeGoneTerminals(process);
process.exitCode = await runProgram(process.argv.slice(2), host);
exitAfterGrace(
  {
    getActiveResourcesInfo: () => process.getActiveResourcesInfo(),
    exit: () => process.exit(),
    killItself: () => {
      process.emit('exit', Number(process.exitCode));
      process.removeAllListeners('SIGTERM');
      process.kill(process.pid, 'SIGTERM');
    },
  },
  clock,
);
