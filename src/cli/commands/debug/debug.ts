import { Command, Option } from 'commander';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { isImageName } from '#kube/pod/pod-defaults.js';
import { staticPodName } from '#kube/pod/static-pod.js';
import { type ContainerStatusObject, type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { randomSuffix } from '#base/text/random-suffix.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';
import { type AgentSession, stripEquals, withAgent } from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { followObject } from '../../shared/api/follow-object.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { findPodOf } from '../../shared/pods/pods-of-object.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { attachSession } from '../../shared/streaming/attach-session.js';
import {
  addStreamFlags,
  assertUnended,
  splitAtDashes,
  type StreamFlags,
} from '../../shared/streaming/stream-flags.js';
import { copyPod, type DebugContainer } from './copy-pod.js';

interface DebugFlags extends StreamFlags {
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly target?: string;
  readonly profile: string;
  readonly env: readonly string[];
  readonly argumentsOnly: boolean;
  /** Default: with `stdin`. */
  readonly attach?: 'true' | 'false';
  readonly copyTo?: string;
  /** Default: true. */
  readonly shareProcesses?: 'true' | 'false';
  readonly setImage?: string;
}

/** What each profile of kubectl adds to the securityContext of a container in a pod that runs. */
const PROFILES: Readonly<Record<string, object | undefined>> = {
  general: { capabilities: { add: ['SYS_PTRACE'] } },
  baseline: undefined,
  restricted: {
    ...{ runAsNonRoot: true, allowPrivilegeEscalation: false },
    ...{ capabilities: { drop: ['ALL'] }, seccompProfile: { type: 'RuntimeDefault' } },
  },
  netadmin: { capabilities: { add: ['NET_ADMIN', 'NET_RAW'] } },
  sysadmin: { privileged: true },
  legacy: undefined,
};

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];

const FLAG_GROUPS = {
  Container: [
    ...['--image', '--image-pull-policy', '--container', '--target', '--env'],
    ...['--profile', '--arguments-only'],
  ],
  Copy: ['--copy-to', '--share-processes', '--set-image'],
  Session: ['--stdin', '--tty', '--attach', '--quiet'],
  Agent: ['--namespace', '--socket'],
};

const HELP = `
The container joins the pod as it runs, and nothing of the pod restarts. It is no part of the manifest: it goes with the pod, and is there after a restart of the agent. It cannot be removed or changed, as in Kubernetes.

With --copy-to the pod stays as it is, and a copy of it gets the container, or another command in the container that -c names. The copy has no labels, no probes and no ports of the node, and its manifest stays until "podloop delete".

Examples:
  # A shell in the network of a pod, with the tools of an image
  podloop debug -it web --image=busybox

  # With the programs of this machine, and the processes of the container "server"
  podloop debug -it web --image=podloop.local/host --target=server

  # In the first pod of a Deployment, one command, whose output stays in the log
  podloop debug deploy/web --image=busybox -c netstat -- netstat -tln
  podloop logs deploy/web -c netstat

  # A copy of a pod that crashes, with a shell instead of its own command
  podloop debug -it web --copy-to=web-debug -c server -- sh
  podloop delete pod web-debug

  # On a node that forbids further capabilities
  podloop debug -it web --image=busybox --profile=baseline`;

/** `podloop debug`: adds an ephemeral container to a pod that runs, and talks with it. */
export function debugCommand(host: CliHost): Command {
  const command = new Command('debug')
    .usage('<pod> [options] [-- <command>...]')
    .description('Debug a pod that runs, with a container that joins it.')
    .argument(
      '[words...]',
      'Name of the pod, as in "web", "pod/web" or "deploy/web", and behind -- a command',
    );
  const meanings = {
    stdin: 'Hand standard input on to the container',
    tty: 'Give the container a terminal',
    quiet: 'Print only what the container prints',
  };
  addStreamFlags(command, meanings)
    .addOption(new Option('--image <image>', 'Image of the container').argParser(stripEquals))
    .option('--image-pull-policy <policy>', 'Always, IfNotPresent or Never (default: by the image)')
    .addOption(
      new Option('--target <name>', 'Container of the pod whose processes it sees').argParser(stripEquals),
    )
    .addOption(
      new Option('--env <name=value>', 'Variable of the container; may be given several times')
        .argParser((text: string, before: readonly string[]) => [...before, text])
        .default([], 'none'),
    )
    .addOption(
      new Option(
        '--profile <name>',
        'What it may do: general (traces processes), baseline, restricted, netadmin, sysadmin (all), legacy',
      ).default('general'),
    )
    .option('--arguments-only', 'The words behind -- are arguments of the image’s own command', false)
    .addOption(
      new Option('--attach [bool]', 'Wait for the container and attach to it (default: as --stdin)').choices([
        'true',
        'false',
      ]),
    )
    .addOption(
      new Option('--copy-to <name>', 'Make a copy of the pod with this name, and debug that').argParser(
        stripEquals,
      ),
    )
    .addOption(
      new Option(
        '--share-processes [bool]',
        'Have the containers of the copy see each other’s processes (default: true)',
      ).choices(['true', 'false']),
    )
    .addOption(
      new Option(
        '--set-image <name=image,...>',
        'Other images for containers of the copy; * is for all',
      ).argParser(stripEquals),
    );
  return groupFlags(command, FLAG_GROUPS)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: DebugFlags, self: Command) => {
      const { before, after = [] } = splitAtDashes(words, self);
      checkFlags(flags, before);
      await withAgent(host, flags, (session) => debug(before[0]!, after, { flags, session, host }));
    });
}

/** Throws a CommandFailure with kubectl's words. */
function checkFlags(flags: DebugFlags, pods: readonly string[]): void {
  const { image = '', imagePullPolicy, profile, env, copyTo } = flags;
  if (!Object.hasOwn(PROFILES, profile)) throw failure(`unknown profile: ${profile}`);
  const wrong = env.find((each) => !/^[^=]+=/.test(each));
  if (wrong !== undefined) throw failure(`invalid env: ${wrong}`);
  if (copyTo === undefined) {
    for (const name of ['setImage', 'shareProcesses'] as const) {
      const flag = name === 'setImage' ? '--set-image' : '--share-processes';
      if (flags[name] !== undefined) throw failure(`${flag} may only be used with --copy-to.`);
    }
    if (image === '') throw failure('you must specify --image, or --copy-to.');
  } else if (flags.target !== undefined) {
    throw failure('--target is incompatible with --copy-to. Use --share-processes instead.');
  }
  if (image !== '' && !isImageName(image))
    throw failure(`invalid image name ${JSON.stringify(image)}: invalid reference format`);
  if (pods.length === 0) throw failure('NAME is required for debug');
  if (pods.length > 1)
    throw failure(`expected one pod, saw ${pods.length}: [${pods.join(' ')}]; a command stands behind --`);
  if (imagePullPolicy !== undefined && !PULL_POLICIES.includes(imagePullPolicy))
    throw failure(`invalid image pull policy: ${imagePullPolicy}`);
  if (flags.tty && !flags.stdin) throw failure('-i/--stdin is required for containers with -t/--tty=true');
}

interface DebugRequest {
  readonly flags: DebugFlags;
  readonly session: AgentSession;
  readonly host: CliHost;
}

async function debug(word: string, command: readonly string[], request: DebugRequest): Promise<void> {
  const { flags, session, host } = request;
  const { client, namespace } = session;
  const say = (line: string): Promise<void> =>
    flags.quiet ? Promise.resolve() : host.stderr.writeLine(line);
  const pod = await findPodOf(word, session, say);
  if (flags.copyTo !== undefined) return debugCopy(pod, flags.copyTo, command, { ...request, say });
  assertUnended(pod, 'start');
  const { name: podName = word } = pod.metadata ?? {};
  if (flags.target !== undefined) {
    await say(
      `Targeting container "${flags.target}". If you don't see processes from this container it may be because the container runtime doesn't support this feature.`,
    );
  }
  const name = flags.container ?? newName();
  if (flags.container === undefined) await say(nameChosen(name));
  const container = toContainer(name, command, flags);
  const path = `${pathOf(PODS, namespace, podName)}/ephemeralcontainers`;
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  await client.send('PATCH', path, { headers, body: { spec: { ephemeralContainers: [container] } } });
  if (isAttached(flags))
    return attachOnceRunning({ podName, name, tty: flags.tty, isNewPod: false }, request);
  const place = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
  await say(`What it prints: podloop logs ${podName} -c ${name}${place}`);
}

const newName = (): string => `debugger-${randomSuffix(Math.random)}`;
const nameChosen = (name: string): string => `Defaulting debug container name to ${name}.`;
const isAttached = ({ attach, stdin }: DebugFlags): boolean =>
  attach === undefined ? stdin : attach === 'true';

async function debugCopy(
  pod: PodObject,
  copyName: string,
  command: readonly string[],
  { flags, session, host, say }: DebugRequest & { readonly say: (line: string) => Promise<void> },
): Promise<void> {
  const { client, namespace } = session;
  const { container: given, shareProcesses, setImage = '' } = flags;
  const { copy, container } = copyPod(pod, {
    ...{ name: copyName, container: toContainer(given ?? newName(), command, flags) },
    ...{ sharesProcesses: shareProcesses !== 'false', images: readImages(setImage) },
  });
  await client.send('POST', pathOf(PODS, namespace), { body: copy });
  if (given === undefined && container !== undefined) await say(nameChosen(container));
  const place = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
  await say(`pod/${copyName} is there until "podloop delete pod ${copyName}${place}".`);
  const podName = staticPodName(copyName, pod.spec?.nodeName ?? '');
  if (isAttached(flags) && container !== undefined)
    await attachOnceRunning(
      { podName, name: container, tty: flags.tty, isNewPod: true },
      { flags, session, host },
    );
}

/** `main=busybox,*=alpine`, by the names of containers. */
function readImages(text: string): Record<string, string> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const [name = '', image = ''] = part.split(/=(.*)/s);
      if (name === '' || !isImageName(image))
        throw failure(
          `invalid image ${JSON.stringify(part)} for --set-image: use CONTAINER=IMAGE, or *=IMAGE`,
        );
      return [name, image];
    }),
  );
}

function toContainer(name: string, words: readonly string[], flags: DebugFlags): DebugContainer {
  const { image = '', imagePullPolicy, target, env, stdin, tty, profile, argumentsOnly } = flags;
  const securityContext = PROFILES[profile];
  return {
    ...{ name, ...(image === '' ? {} : { image }) },
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    ...(words.length === 0 ? {} : argumentsOnly ? { args: words } : { command: words }),
    ...(env.length === 0 ? {} : { env: env.map(toVariable) }),
    ...(target === undefined ? {} : { targetContainerName: target }),
    ...(stdin ? { stdin } : {}),
    ...(tty ? { tty } : {}),
    ...(securityContext === undefined ? {} : { securityContext }),
  };
}

function toVariable(text: string): object {
  const at = text.indexOf('=');
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

interface AddedContainer {
  readonly podName: string;
  readonly name: string;
  readonly tty: boolean;
  /** The agent may not show the pod yet. */
  readonly isNewPod: boolean;
}

/** Of a container that has ended by then, its log is printed instead. */
async function attachOnceRunning(container: AddedContainer, request: DebugRequest): Promise<void> {
  const { flags, session, host } = request;
  const { podName } = container;
  const status = await untilStarted(container, request);
  if (status.state?.running === undefined) return printLog(container, request);
  try {
    await attachSession(container, flags, session, host);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const why = escapeTerminal(error.told);
    await host.stderr.writeLine(
      `warning: couldn't attach to pod/${podName}, falling back to streaming logs: ${why}`,
    );
    await printLog(container, request);
  }
}

/** Resolves with the status of the container once it runs or has ended; says what it waits for until then. */
async function untilStarted(
  { podName, name, isNewPod }: AddedContainer,
  { flags, session, host }: DebugRequest,
): Promise<ContainerStatusObject> {
  let mayCome = isNewPod;
  let found: ContainerStatusObject | undefined;
  let said = '';
  const isDone = ([pod]: readonly KubeObject[]): boolean => {
    if (pod === undefined) {
      if (mayCome) return false;
      throw failure(`pods "${podName}" was deleted before the container started`);
    }
    mayCome = false;
    const { status = {} } = pod as PodObject;
    const { containerStatuses = [], ephemeralContainerStatuses = [] } = status;
    found = [...ephemeralContainerStatuses, ...containerStatuses].find((each) => each.name === name);
    const { state = {} } = found ?? {};
    if (state.running !== undefined || state.terminated !== undefined) return true;
    if (status.phase === 'Succeeded' || status.phase === 'Failed')
      throw failure(`the pod has ended before the container started; current phase is ${status.phase}`);
    const { message = '' } = state.waiting ?? {};
    if (message !== '' && message !== said && !flags.quiet)
      void host.stderr.writeLine(`Warning: container ${name}: ${escapeTerminal(message)}`);
    said = message;
    return false;
  };
  const object = { type: PODS, namespace: session.namespace, name: podName };
  await followObject(object, session, { clock: host.clock, timeoutMs: undefined, isDone });
  return found ?? {};
}

async function printLog({ podName, name }: AddedContainer, { session, host }: DebugRequest): Promise<void> {
  const { client, namespace, signal } = session;
  const path = `${pathOf(PODS, namespace, podName)}/log`;
  const answer = await client.open('GET', path, { query: { container: name, follow: true } });
  try {
    for await (const chunk of client.read(answer)) await host.stdout.write(chunk, signal);
  } finally {
    answer.destroy();
  }
}
