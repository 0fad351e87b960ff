import { Command } from 'commander';
import { stringify } from 'yaml';
import {
  CERTIFICATE_FOLDERS,
  type Diagnosis,
  type DoctorOptions,
  type EventObject,
  EXIT_CODES,
  exitCodeOf,
  exitCodeOfPod,
  isWholeReport,
  type PodAnswer,
  runDoctor,
  runPodDoctor,
  formatMs,
} from '#node';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { AgentClient } from '../../shared/api/agent-client.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { ApiError } from '../../shared/api/api-status.js';
import { askAgent } from '../../shared/api/ask-agent.js';
import { printAsRoot } from '../../as-root.js';
import { type CliHost } from '../../cli-host.js';
import { readPodName } from '../../shared/api/object-selection.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { CommandFailure } from '../../command-failure.js';
import { toDiagnosisLines, listUnseenLines, nameOf, oneLine, toFindingLines } from './diagnosis-text.js';
import { KUBELET_URLS, readCredentials } from '../../shared/kubelet-flags.js';
import { addDoctorFlags, type DoctorFlags, WATCH_INTERVAL_MS } from './doctor-flags.js';
import { ProgressLine } from './progress-line.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
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
    '--namespace',
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
named, it examines the one that podloop's own agent works with, where that answers; else at the one that the machine has.

With "pod NAME" it says why that pod does not run: at which step it stands (admission, volume, network, sandbox, pull, create,
start, probe, back-off, deletion), since when, why, and what to do. It reads podloop's own agent, or a kubelet's /pods; where
neither may be read, what the runtime shows.

Exit codes: 0 healthy, 1 warnings, 2 critical, 3 wrong usage, 4 nothing was found and the node could not be judged. For a pod: 0 it
runs or has ended as it should, 1 it does not, 2 its node is to blame, 3 there is no such pod, or more than one, 4 nobody could say.

Examples:
  # What is wrong with this node?
  podloop doctor

  # Why does this pod not run?
  podloop doctor pod web -n default

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
    .argument('[pod...]', 'A pod, as in "pod web" or "pod/web" (default: the node)')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: readonly string[], flags: DoctorFlags) => {
      const exitCode = await examine(words, flags, host);
      if (exitCode !== 0) throw new CommandFailure([], exitCode);
    });
}

async function examine(words: readonly string[], flags: DoctorFlags, host: CliHost): Promise<number> {
  const { stdout } = host;
  const interrupted = host.listenForInterrupts();
  const signal = AbortSignal.any([interrupted, stdout.ended]);
  try {
    const podName = readWords(words, flags);
    return await examineRepeatedly(podName, flags, host, signal);
  } catch (error) {
    if (interrupted.aborted) return EXIT_INTERRUPTED;
    if (stdout.failure !== undefined) throw stdout.failure;
    if (signal.aborted) return 0;
    const lines = error instanceof CommandFailure ? error.lines : [`error: ${messageOf(error)}`];
    throw new CommandFailure(
      // The words of an agent are for commands that take one pod of a workload by the name of that.
      lines.map((line) =>
        line.replace(/write \S+ for one of its pods, or a pod such as/, 'name one of its pods, such as'),
      ),
      EXIT_CODES.usage,
    );
  }
}

/** The pod that is named; undefined for the node. */
function readWords(words: readonly string[], { namespace }: DoctorFlags): string | undefined {
  const [first] = words;
  if (first === undefined) {
    if (namespace !== undefined)
      throw new Error('--namespace needs a pod, as in "podloop doctor pod web -n default"');
    return undefined;
  }
  const names = words.length > 1 && /^(?:pods?|po)$/.test(first) ? words.slice(1) : words;
  if (names.length > 1) throw new Error('name one pod, as in "podloop doctor pod web"');
  const isBare = names === words && !first.includes('/');
  if (isBare)
    throw new Error(`${first} is nothing to examine; a pod is named as in "podloop doctor pod web"`);
  return readPodName(
    names[0]!,
    `${names[0]!} is no pod; only the node and its pods can be examined: podloop get pods lists these`,
  );
}

async function examineRepeatedly(
  podName: string | undefined,
  flags: DoctorFlags,
  host: CliHost,
  signal: AbortSignal,
): Promise<number> {
  const prepared = await prepare(flags, host, signal);
  const examineOnce =
    podName === undefined ? examineNode(prepared, flags, host) : examinePod(podName, prepared, flags, host);
  for (;;) {
    const exitCode = await examineOnce();
    if (flags.watch === undefined) return exitCode;
    await host.clock.sleep(flags.watch === true ? WATCH_INTERVAL_MS : flags.watch, signal);
  }
}

/** What an examination needs, and how to clear what it shows of its way. */
interface Prepared {
  readonly agent: AgentClient;
  readonly optionsNow: () => Promise<DoctorOptions>;
  readonly progress: ProgressLine;
}

async function prepare(flags: DoctorFlags, host: CliHost, signal: AbortSignal): Promise<Prepared> {
  const { clock, env } = host;
  const endpoint = flags.runtimeEndpoint ?? flags.containerRuntimeEndpoint;
  const named = await resolveRuntimeEndpoint(endpoint, env);
  const credentials = await readCredentials(flags);
  const socketPath = resolveAgentSocket(flags.socket, env, process.getuid?.() ?? 0, 'usual');
  const agent = new AgentClient({ socketPath, clock, signal });
  const progress = new ProgressLine(host);
  const { timeout: limitMs } = flags;
  const optionsNow = async (): Promise<DoctorOptions> => ({
    runtimeEndpoint: named === '' ? await findRuntimeEndpoint({ agent, env, clock, limitMs }) : named,
    ...{ clock, signal, events: flags.events, timeoutMs: limitMs, watchMs: flags.for },
    ...{ hostRoot: flags.hostRoot, mayWrite: flags.diskWrite },
    certificateFolders: flags.certDir ?? CERTIFICATE_FOLDERS,
    kubelet: { urls: flags.kubeletUrl ?? KUBELET_URLS, healthzUrl: flags.healthzUrl, credentials },
    readAgent: async () => await readReport(agent, clock, limitMs),
    readAgentPods: async () => await askAgent(agent, pathOf(PODS, undefined), { clock, limitMs }),
    onProgress: (how) => progress.show(how),
  });
  return { agent, optionsNow, progress };
}

function examineNode(
  { optionsNow, progress }: Prepared,
  flags: DoctorFlags,
  host: CliHost,
): () => Promise<number> {
  return async () => {
    const diagnosis = await runDoctor(await optionsNow()).finally(() => progress.clear());
    await print(toDiagnosisObject(diagnosis), (wide) => toDiagnosisLines(diagnosis, wide), flags, host);
    const needsRoot = diagnosis.findings.some(({ code }) => code === 'RuntimeForbidden');
    if (needsRoot && flags.watch === undefined) await printAsRoot(host);
    return exitCodeOf(diagnosis);
  };
}

function examinePod(
  name: string,
  { agent, optionsNow, progress }: Prepared,
  flags: DoctorFlags,
  host: CliHost,
): () => Promise<number> {
  const { namespace, timeout: limitMs } = flags;
  const { clock } = host;
  const pod = { name, ...(namespace === undefined ? {} : { namespace }) };
  return async () => {
    const readPodEvents = async (of: PodRef): Promise<readonly EventObject[]> =>
      await readEvents(agent, of, { clock, limitMs });
    const answer = await runPodDoctor({ ...(await optionsNow()), pod, readPodEvents }).finally(() =>
      progress.clear(),
    );
    if (answer.kind === 'ambiguous')
      throw new Error(
        `there is more than one pod ${name}: ${answer.pods.join(', ')}; choose one with --namespace`,
      );
    if (answer.kind === 'absent' && answer.isSure) {
      const why = await explainAbsence(agent, pod, limitMs);
      throw why === undefined ? absentError(answer, pod) : new Error(why);
    }
    const lines = (wide: boolean): string[] =>
      answer.kind === 'explained' ? toPodLines(answer, wide) : toAbsentLines(answer, name, wide);
    await print(toPodObject(answer), lines, flags, host);
    return exitCodeOfPod(answer);
  };
}

/** A pod's events as the agent has them, newest first. */
async function readEvents(
  agent: AgentClient,
  { uid, namespace }: PodRef,
  limits: { readonly clock: Clock; readonly limitMs: number },
): Promise<readonly EventObject[]> {
  const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=${encodeURIComponent(`involvedObject.uid=${uid}`)}`;
  const { items } = (await askAgent(agent, path, limits)) as { items?: readonly EventObject[] };
  // The agent has the newest last.
  return [...(items ?? [])].reverse();
}

/** What an agent says of a pod that it knows and that is not there, as of one that was stopped; undefined otherwise. */
async function explainAbsence(
  agent: AgentClient,
  { name, namespace = DEFAULT_NAMESPACE }: { readonly name: string; readonly namespace?: string },
  limitMs: number,
): Promise<string | undefined> {
  try {
    await agent.send('GET', pathOf(PODS, namespace, name), { limitMs });
    return undefined;
  } catch (error) {
    const isExplained = error instanceof ApiError && error.reason === 'NotFound';
    return isExplained && !error.told.endsWith(' not found') ? error.told : undefined;
  }
}

function absentError(
  { similar }: Extract<PodAnswer, { kind: 'absent' }>,
  { name, namespace }: { readonly name: string; readonly namespace?: string },
): Error {
  const where = namespace === undefined ? 'on this node' : `in namespace ${namespace} on this node`;
  return new Error(
    `there is no pod ${name} ${where}${similar.length === 0 ? '' : `; there is ${similar.join(', ')}`}`,
  );
}

function toAbsentLines(
  { diagnosis }: Extract<PodAnswer, { kind: 'absent' }>,
  name: string,
  wide: boolean,
): string[] {
  const [, ...rest] = toDiagnosisLines(diagnosis, wide);
  const first = `NOT JUDGED: the runtime has nothing of pod ${name}, and neither podloop’s agent nor a kubelet said which pods there are`;
  return [escapeTerminal(first), ...rest];
}

/** What podloop's own agent says, whole within the limit. One of another version may say less, and is not judged then. */
async function readReport(agent: AgentClient, clock: Clock, limitMs: number): Promise<PlegReport> {
  const report = await askAgent(agent, '/debug/pleg', { clock, limitMs });
  if (!isWholeReport(report)) throw new Error(`the agent at ${agent.socketPath} is of another version`);
  return report;
}

async function print(
  object: { readonly time: string },
  toLines: (wide: boolean) => readonly string[],
  { output, watch }: DoctorFlags,
  { stdout }: CliHost,
): Promise<void> {
  const isWatch = watch !== undefined;
  switch (output) {
    case 'json':
      // In one line where more follow.
      await stdout.writeLine(JSON.stringify(object, undefined, isWatch ? undefined : 2));
      break;
    case 'yaml': {
      const text = stringify(object, { indentSeq: false, lineWidth: 0, version: '1.1' });
      await stdout.writeLine(`${isWatch ? '---\n' : ''}${text.replace(/\n$/, '')}`);
      break;
    }
    default:
      if (isWatch) await stdout.writeLine(object.time);
      for (const line of toLines(output === 'wide')) await stdout.writeLine(line);
      if (isWatch) await stdout.writeLine('');
  }
  if (stdout.failure !== undefined) throw stdout.failure;
}

/** A diagnosis as one object: everything that was found out, and what is wrong. */
function toDiagnosisObject(diagnosis: Diagnosis): { time: string } {
  const { facts, findings } = diagnosis;
  const { atMs, ...rest } = facts;
  return {
    time: new Date(atMs).toISOString(),
    ...{ exitCode: exitCodeOf(diagnosis), findings, facts: rest },
  };
}

/** The same of a pod, with what was found out about the node. */
function toPodObject(answer: Exclude<PodAnswer, { kind: 'ambiguous' }>): { time: string } {
  const { atMs, ...facts } = answer.diagnosis.facts;
  const pod =
    answer.kind === 'explained' ? { pod: answer.explained } : { findings: answer.diagnosis.findings };
  return { time: new Date(atMs).toISOString(), ...{ exitCode: exitCodeOfPod(answer), ...pod, facts } };
}

/** What the doctor says of a pod, in lines for people: the verdict, why, what to do, and what of its node has to do with it. */
function toPodLines(answer: Extract<PodAnswer, { kind: 'explained' }>, wide: boolean): string[] {
  const { explained, diagnosis } = answer;
  const { step, message, sinceMs, evidence, remedy, findings, isWell, source } = explained;
  const { atMs, runtime, tookMs } = diagnosis.facts;
  const lasts = sinceMs === undefined ? '' : ` for ${formatMs(Math.max(0, atMs - sinceMs))}`;
  const seen = `seen by ${source} and ${nameOf(runtime)}, examined in ${formatMs(tookMs)}`;
  const unseen = isWell ? [] : listUnseenLines(diagnosis.facts, wide);
  return [
    `${judge(answer)}${isWell || step === 'unknown' ? '' : ` at ${step}`}${lasts}: ${oneLine(message)}`,
    ...(sinceMs === undefined ? [] : [`  since: ${new Date(sinceMs).toISOString()}`]),
    ...evidence.map((line) => `  evidence: ${oneLine(line)}`),
    `  what to do: ${remedy}`,
    `  ${seen}`,
    ...findings.flatMap((finding) => ['', ...toFindingLines(finding, wide)]),
    ...(unseen.length === 0 ? [] : ['', ...unseen]),
  ].map(escapeTerminal);
}

function judge(answer: Extract<PodAnswer, { kind: 'explained' }>): string {
  const { step, isWell } = answer.explained;
  if (exitCodeOfPod(answer) === EXIT_CODES.notJudged) return 'NOT JUDGED';
  if (isWell) return step === 'ended' ? 'ENDED' : 'RUNS';
  return 'DOES NOT RUN';
}
