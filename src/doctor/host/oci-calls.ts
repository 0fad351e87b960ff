import { dirname, join } from 'node:path';
import { type HostFiles } from '../facts/host-files.js';
import { type SeenProcess } from '../facts/process-table.js';
import { groupBy } from '../group-by.js';
import { type ContainerOwner, type NamedProcess, type OciCall } from './host-facts.js';
import { findBundle } from './ask-shim.js';
import { ageOf, findFrozenCgroup, isInContainer, readState } from './process-state.js';
import { readBundle } from './read-bundle.js';

/** What runc, crun and their kin are asked to do. */
const OPERATIONS = [
  ...['create', 'start', 'run', 'exec', 'kill', 'delete', 'update', 'pause', 'resume', 'state', 'ps'],
  ...['events', 'checkpoint', 'restore', 'list', 'features'],
];
/** Descendants of shims whose command lines are read. */
const MAX_READ = 2_000;
const ID = /^[0-9a-f]{64}$/;
/** Of calls that have run for as long it is read whether they are frozen. */
const FROZEN_MS = 3_000;

/** Who calls the OCI runtime on CRI-O, by the name of the process: CRI-O itself, and its monitor of each container. */
const CRIO_CALLERS: Readonly<Record<string, string>> = { crio: 'CRI-O', conmon: 'its monitor (conmon)' };

/** A call as its command line says it. */
type OciCommand = Pick<OciCall, 'operation' | 'containerId'> & { readonly bundle?: string };

/**
 * Reads `runc --root R --log L [flags] OPERATION [flags] ID`, words ended by zero bytes, and the same behind the
 * interpreter of a script that stands in for runc. Undefined for any other program: these two flags are how
 * containerd's shims call it. CRI-O and conmon name no log.
 */
export function parseOciCommand(cmdline: string, namesLog = true): OciCommand | undefined {
  const words = cmdline.split('\0');
  if (namesLog && !words.some((word) => /^--log(=|$)/.test(word))) return undefined;
  const root = words.findIndex((word) => /^--root(=|$)/.test(word));
  if (root < 0) return undefined;
  const at = words.findIndex((word, index) => OPERATIONS.includes(word) && root < index);
  if (at < 0) return undefined;
  const rest = words.slice(at + 1);
  const containerId = rest.find((word) => ID.test(word));
  if (containerId === undefined) return undefined;
  const flag = rest.indexOf('--bundle');
  const bundle = flag < 0 ? undefined : rest[flag + 1];
  return { operation: words[at]!, containerId, ...(bundle === undefined ? {} : { bundle }) };
}

/** Those of these processes that call the OCI runtime on a machine with CRI-O; none on others, also where podman has a conmon. */
export function findCrioCallers(processes: readonly SeenProcess[]): SeenProcess[] {
  if (!processes.some(({ command }) => command === 'crio')) return [];
  return processes.filter(({ command }) => CRIO_CALLERS[command] !== undefined);
}

/** The calls of an OCI runtime below these shims, or callers of CRI-O, in a scan; oldest first. */
export async function findOciCalls(
  files: HostFiles,
  processes: readonly SeenProcess[],
  callers: readonly NamedProcess[],
  uptimeMs: number,
): Promise<OciCall[]> {
  const children = groupBy(processes, ({ parent }) => parent);
  const ofCrio = new Map(callers.map(({ pid, command }) => [pid, CRIO_CALLERS[command]]));
  const calls: OciCall[] = [];
  const inContainers = new Set<number>();
  for (const process of listBelow(callers, children).slice(0, MAX_READ)) {
    const caller = ofCrio.get(process.parent);
    // The command line of what runs in a container is never read: it may hang with it.
    if (inContainers.has(process.parent) || (await isInContainer(files, process))) {
      inContainers.add(process.pid);
      continue;
    }
    const cmdline = (await files.find(`/proc/${process.pid}/cmdline`)) ?? '';
    const command = parseOciCommand(cmdline, caller === undefined);
    if (command === undefined) continue;
    // A script's own runc has the same arguments: the topmost one is the call.
    if (calls.some(({ pid }) => pid === process.parent)) continue;
    // On CRI-O a kubectl exec is such a call for as long as its program runs.
    if (caller !== undefined && command.operation === 'exec' && hasBegun(process, children)) continue;
    const last = findLast(process, children);
    const { operation, containerId } = command;
    const forMs = ageOf(process, uptimeMs);
    // An exec joins the cgroup of its container, and stands still with it.
    const frozenCgroup = forMs < FROZEN_MS ? undefined : await findFrozenCgroup(files, last.pid);
    calls.push({
      ...{ pid: process.pid, command: process.command, operation, containerId },
      ...{ ...(await readState(files, process)), forMs },
      ...(frozenCgroup === undefined ? {} : { frozenCgroup }),
      ...(caller === undefined
        ? await findOwner(files, process, command)
        : { ...(await findCrioOwner(files, callers, command)), caller }),
      ...(last === process
        ? {}
        : { waitsFor: { pid: last.pid, command: last.command, ...(await readState(files, last)) } }),
    });
  }
  return calls.sort((a, b) => b.forMs - a.forMs);
}

/** Children and grandchildren of callers; what containers start is further down. */
function listBelow(
  callers: readonly NamedProcess[],
  children: ReadonlyMap<number, readonly SeenProcess[]>,
): SeenProcess[] {
  const direct = callers.flatMap(({ pid }) => children.get(pid) ?? []);
  return [...new Set([...direct, ...direct.flatMap(({ pid }) => children.get(pid) ?? [])])];
}

/** By the bundle that the call names, or that of the same id beside the folder of its shim. */
async function findOwner(
  files: HostFiles,
  { pid, parent }: SeenProcess,
  { bundle, containerId }: OciCommand,
): Promise<ContainerOwner> {
  if (bundle !== undefined) return await readBundle(files, bundle);
  for (const each of [parent, pid]) {
    const folder = await findBundle(files, each);
    const owner = folder === undefined ? {} : await readBundle(files, join(dirname(folder), containerId));
    if (owner.pod !== undefined) return owner;
  }
  return {};
}

/** By the bundle that the call names, or that of the container's monitor, which works in it. */
async function findCrioOwner(
  files: HostFiles,
  callers: readonly NamedProcess[],
  { bundle, containerId }: OciCommand,
): Promise<ContainerOwner> {
  if (bundle !== undefined) return await readBundle(files, bundle);
  for (const { pid, command } of callers) {
    if (command !== 'conmon') continue;
    const words = ((await files.find(`/proc/${pid}/cmdline`)) ?? '').split('\0');
    if (words[words.indexOf('-c') + 1] !== containerId || words.includes('-e')) continue;
    const folder = await findBundle(files, pid);
    return folder === undefined ? {} : await readBundle(files, folder);
  }
  return {};
}

/** Names of an OCI runtime until it becomes the program that it has to run: `runc:[2:INIT]`, `exe`. */
const OF_RUNTIME = /^(runc|crun|youki|exe$)/;

/** Whether the program of a call runs, so that the call has done its work. */
function hasBegun(
  { pid, command }: SeenProcess,
  children: ReadonlyMap<number, readonly SeenProcess[]>,
): boolean {
  return (children.get(pid) ?? []).some(
    (child) => child.command !== command && !OF_RUNTIME.test(child.command),
  );
}

/** Whom a process waits for in the end: its newest descendant that is no zombie. */
function findLast(process: SeenProcess, children: ReadonlyMap<number, readonly SeenProcess[]>): SeenProcess {
  let last = process;
  for (let depth = 0; depth < 10; depth++) {
    const next = (children.get(last.pid) ?? []).filter(({ state }) => state !== 'Z').at(-1);
    if (next === undefined) break;
    last = next;
  }
  return last;
}
