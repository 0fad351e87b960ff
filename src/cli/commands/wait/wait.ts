import { Command, Option } from 'commander';
import { type Clock } from '#base/time/clock.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { followObject, type FollowedObject } from '../../shared/api/follow-object.js';
import { selectorQuery, withKinds } from '../../shared/api/get-request.js';
import { readSelection } from '../../shared/api/object-selection.js';
import { pathOf, qualifiedName } from '../../shared/api/resource-type.js';
import { parseDurationFlag } from '../../shared/flag-values.js';
import { selectorOption } from '../../shared/selector-option.js';
import { readWaitCondition, type WaitCondition } from './wait-condition.js';
import { wrapNotes } from '../../help-layout.js';

interface WaitFlags extends SessionFlags {
  readonly for?: string;
  readonly timeout: number;
  readonly all: boolean;
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
}

/** An object that is waited for. */
interface Awaited extends FollowedObject {
  /** For a delete: another one of its name is not waited for. */
  readonly uid?: string | undefined;
}

/** How often to ask for an object that is not there. */
const ASK_AGAIN_MS = 500;
/** What a negative timeout stands for, as with kubectl. */
const A_WEEK_MS = 7 * 24 * 60 * 60_000;

const HELP = `
Exits with 0 once all objects are as wanted, and with 1 when the time is over before.

Examples:
  # Until a pod is ready, for half a minute at most
  podloop wait pod/web --for=condition=Ready

  # Until it runs
  podloop wait pod web --for=jsonpath='{.status.phase}'=Running --timeout=2m

  # Until a pod of that name is there, and until all with a label are gone
  podloop wait pod/web --for=create
  podloop wait pods -l app=web --for=delete`;

/** `podloop wait`: waits until objects of a running agent are as wanted. */
export function waitCommand(host: CliHost): Command {
  const command = new Command('wait')
    .description('Wait until pods and other objects of a running agent are as wanted.')
    .argument('[what...]', 'Kind and names, as in "pod web db" or "pod/web"');
  return addSessionFlags(command)
    .addOption(
      new Option(
        '--for <condition>',
        'delete, create, condition=NAME[=VALUE] or jsonpath=EXPRESSION[=VALUE]',
      ).argParser(stripEquals),
    )
    .addOption(
      new Option(
        '--timeout <duration>',
        'Maximum time to wait for each object; 0 looks once, less waits for a week',
      )
        .argParser(parseTimeout)
        .default(30_000, '30s'),
    )
    .option('-A, --all-namespaces', 'Objects of all namespaces', false)
    .option('--all', 'All objects of the kind', false)
    .addOption(selectorOption())
    .option('--field-selector <selector>', 'Only objects with these fields, as in status.phase=Running')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: WaitFlags) => {
      if (flags.for === undefined)
        throw failure('name what to wait for, as in --for=condition=Ready or --for=delete');
      const condition = readWaitCondition(flags.for);
      await withAgent(host, flags, (session) => wait(words, { flags, condition, session, host }));
    });
}

interface WaitRequest {
  readonly flags: WaitFlags;
  readonly condition: WaitCondition;
  readonly session: AgentSession;
  readonly host: CliHost;
}

async function wait(words: readonly string[], request: WaitRequest): Promise<void> {
  const { condition, host } = request;
  const awaited = await findAwaited(words, request);
  if (awaited.length === 0) {
    // All are gone, as was wanted.
    if (condition.isDelete) return;
    throw failure('no matching resources found');
  }
  const failures: string[] = [];
  for (const one of awaited) {
    const name = `${qualifiedName(one.type)}/${one.name}`;
    if (await isMetInTime(one, request)) await host.stdout.writeLine(`${name} condition met`);
    else failures.push(`error: timed out waiting for the condition on ${one.type.plural}/${one.name}`);
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}

async function isMetInTime(
  { uid, ...object }: Awaited,
  { condition, flags, session, host }: WaitRequest,
): Promise<boolean> {
  const { isDelete, isCreate, isMet } = condition;
  const isDone = (found: readonly KubeObject[]): boolean =>
    isDelete
      ? !found.some(({ metadata }) => uid === undefined || metadata?.uid === uid)
      : found.some((each) => isMet(each));
  const timeoutMs = flags.timeout < 0 ? A_WEEK_MS : flags.timeout;
  if (isCreate) return isThereInTime(object, session, { clock: host.clock, timeoutMs });
  return followObject(object, session, { clock: host.clock, timeoutMs, isDone });
}

/** By asking for the object: it may get another name than the one in its manifest. */
async function isThereInTime(
  { type, namespace, name }: FollowedObject,
  { client, signal }: AgentSession,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<boolean> {
  const giveUpAtMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    try {
      await client.get(pathOf(type, namespace, name));
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
    }
    if (clock.monotonicMs() >= giveUpAtMs) return false;
    await clock.sleep(Math.min(ASK_AGAIN_MS, giveUpAtMs - clock.monotonicMs()), signal);
  }
}

async function findAwaited(
  words: readonly string[],
  { flags, condition, session }: WaitRequest,
): Promise<Awaited[]> {
  const { client, namespace } = session;
  const { all, allNamespaces } = flags;
  if (words.length === 0) throw failure('name what to wait for, as in "podloop wait pod/web"');
  const hasSelector = flags.selector !== undefined || flags.fieldSelector !== undefined;
  const selection = readSelection(words, { hasSelector, allNamespaces, all }, 'wait');
  if (selection.names.length === 0 && !all && !hasSelector)
    throw failure('resource(s) were provided, but no name was specified');
  const found: Awaited[] = [];
  for (const { type, name } of selection.names) {
    if (condition.isCreate) {
      found.push({ type, namespace, name });
      continue;
    }
    try {
      const { metadata = {} } = await client.get(pathOf(type, namespace, name));
      found.push({ type, namespace, name: metadata.name ?? name, uid: metadata.uid });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      if (!condition.isDelete) throw error;
    }
  }
  if (selection.names.length > 0) return found;
  for (const type of selection.types) {
    const list = await client.get(pathOf(type, allNamespaces ? undefined : namespace), selectorQuery(flags));
    for (const { metadata = {} } of withKinds(list))
      found.push({
        type,
        name: metadata.name ?? '',
        namespace: metadata.namespace ?? namespace,
        uid: metadata.uid,
      });
  }
  return found;
}

/** Less than zero is allowed, as with kubectl. */
function parseTimeout(text: string): number {
  const [, sign, rest = ''] = /^(-?)(.*)$/s.exec(text) ?? [];
  return parseDurationFlag(rest) * (sign === '-' ? -1 : 1);
}
