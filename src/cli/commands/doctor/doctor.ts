import { Command } from 'commander';
import { stringify } from 'yaml';
import { CERTIFICATE_FOLDERS, type Diagnosis, EXIT_CODES, exitCodeOf, isWholeReport, runDoctor } from '#node';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { AgentClient } from '../../shared/api/agent-client.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { askAgent } from '../../shared/api/ask-agent.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { toDiagnosisLines } from './diagnosis-text.js';
import {
  addDoctorFlags,
  type DoctorFlags,
  KUBELET_URLS,
  readCredentials,
  WATCH_INTERVAL_MS,
} from './doctor-flags.js';
import { ProgressLine } from './progress-line.js';
import { findRuntimeEndpoint } from '../../shared/find-runtime-endpoint.js';
import { EXIT_INTERRUPTED } from '../../interrupts.js';
import { resolveRuntimeEndpoint } from '../../shared/runtime-endpoint.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';

/** Below these headings in the help; the rest is below Options. */
const FLAG_GROUPS = {
  'What to examine': [
    '--runtime-endpoint',
    '--container-runtime-endpoint',
    '--socket',
    '--kubelet-url',
    '--healthz-url',
    '--cert-dir',
    '--host-root',
    '--events',
    '--no-disk-write',
  ],
  'Access to a kubelet': [
    '--token-file',
    '--client-certificate',
    '--client-key',
    '--certificate-authority',
    '--insecure-skip-tls-verify',
  ],
};

const HELP = `
It changes nothing and takes no event from a kubelet or an agent that runs beside it. Run it as root. Unless a runtime is
named, it looks at the one that podloop's own agent works with, where that answers; else at the one that the machine has.

Exit codes: 0 healthy, 1 warnings, 2 critical, 3 wrong usage, 4 nothing was found and the node could not be judged.

Examples:
  # What is wrong with this node?
  podloop doctor

  # With every number that was measured
  podloop doctor -o wide

  # For a ticket
  podloop doctor -o json > doctor.json

  # With the kubelet's own metrics over TLS
  podloop doctor --token-file token --insecure-skip-tls-verify

  # In a container, with the machine's root mounted
  podloop doctor --host-root /host -r unix:///host/run/containerd/containerd.sock

  # Again every ten seconds, until Ctrl-C
  podloop doctor --watch=10s`;

/** `podloop doctor`: what is wrong with this node, in words. */
export function doctorCommand(host: CliHost): Command {
  const command = new Command('doctor').description(
    'Say what is wrong with this node: its runtime, its machine, its kubelet or podloop’s own agent.',
  );
  return groupFlags(addDoctorFlags(command), FLAG_GROUPS)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: DoctorFlags) => {
      const exitCode = await examine(flags, host);
      if (exitCode !== 0) throw new CommandFailure([], exitCode);
    });
}

async function examine(flags: DoctorFlags, host: CliHost): Promise<number> {
  const { stdout } = host;
  const interrupted = host.listenForInterrupts();
  const signal = AbortSignal.any([interrupted, stdout.ended]);
  try {
    return await lookUntilTold(flags, host, signal);
  } catch (error) {
    if (interrupted.aborted) return EXIT_INTERRUPTED;
    if (stdout.failure !== undefined) throw stdout.failure;
    if (signal.aborted) return 0;
    throw new CommandFailure([`error: ${messageOf(error)}`], EXIT_CODES.usage);
  }
}

async function lookUntilTold(flags: DoctorFlags, host: CliHost, signal: AbortSignal): Promise<number> {
  const look = await prepareLook(flags, host, signal);
  for (;;) {
    const diagnosis = await look();
    await print(diagnosis, flags, host);
    if (flags.watch === undefined) return exitCodeOf(diagnosis);
    await host.clock.sleep(flags.watch === true ? WATCH_INTERVAL_MS : flags.watch, signal);
  }
}

async function prepareLook(
  flags: DoctorFlags,
  host: CliHost,
  signal: AbortSignal,
): Promise<() => Promise<Diagnosis>> {
  const { clock, env } = host;
  const endpoint = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
  const named = await resolveRuntimeEndpoint(endpoint, env);
  const credentials = await readCredentials(flags);
  const socketPath = resolveAgentSocket(flags.socket, env, process.getuid?.() ?? 0, 'usual');
  const agent = new AgentClient({ socketPath, clock, signal });
  const progress = new ProgressLine(host);
  return async () => {
    const { timeout: limitMs } = flags;
    const runtimeEndpoint = named === '' ? await findRuntimeEndpoint({ agent, env, clock, limitMs }) : named;
    return await runDoctor({
      ...{ runtimeEndpoint, clock, signal, events: flags.events },
      ...{ timeoutMs: flags.timeout, watchMs: flags.for },
      ...{ hostRoot: flags.hostRoot, mayWrite: flags.diskWrite },
      certificateFolders: flags.certDir ?? CERTIFICATE_FOLDERS,
      kubelet: { urls: flags.kubeletUrl ?? KUBELET_URLS, healthzUrl: flags.healthzUrl, credentials },
      readAgent: async () => await readReport(agent, clock, flags.timeout),
      onProgress: (how) => progress.show(how),
    }).finally(() => progress.clear());
  };
}

/** What podloop's own agent says, whole within the limit. One of another version may say less, and is not judged then. */
async function readReport(agent: AgentClient, clock: Clock, limitMs: number): Promise<PlegReport> {
  const report = await askAgent(agent, '/debug/pleg', { clock, limitMs });
  if (!isWholeReport(report)) throw new Error(`the agent at ${agent.socketPath} is of another version`);
  return report;
}

async function print(
  diagnosis: Diagnosis,
  { output, watch }: DoctorFlags,
  { stdout }: CliHost,
): Promise<void> {
  const isWatch = watch !== undefined;
  switch (output) {
    case 'json':
      await stdout.writeLine(toDiagnosisJson(diagnosis, isWatch));
      break;
    case 'yaml':
      await stdout.writeLine(`${isWatch ? '---\n' : ''}${toDiagnosisYaml(diagnosis)}`);
      break;
    default:
      if (isWatch) await stdout.writeLine(new Date(diagnosis.facts.atMs).toISOString());
      for (const line of toDiagnosisLines(diagnosis, output === 'wide')) await stdout.writeLine(line);
      if (isWatch) await stdout.writeLine('');
  }
  if (stdout.failure !== undefined) throw stdout.failure;
}

/** A diagnosis as one object: everything that was found out, and what is wrong. */
function toDiagnosisObject(diagnosis: Diagnosis): object {
  const { facts, findings } = diagnosis;
  const { atMs, ...rest } = facts;
  return { time: new Date(atMs).toISOString(), exitCode: exitCodeOf(diagnosis), findings, facts: rest };
}

/** In one line where more follow. */
function toDiagnosisJson(diagnosis: Diagnosis, inOneLine: boolean): string {
  return JSON.stringify(toDiagnosisObject(diagnosis), undefined, inOneLine ? undefined : 2);
}

/** The same as YAML, without a line end behind it. */
function toDiagnosisYaml(diagnosis: Diagnosis): string {
  const text = stringify(toDiagnosisObject(diagnosis), { indentSeq: false, lineWidth: 0, version: '1.1' });
  return text.replace(/\n$/, '');
}
