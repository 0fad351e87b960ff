import { EVENTS_METHOD } from './cri-method.js';
import { type KnownId } from './pod-directory.js';
import { type EventKind, type Rule } from './chaos-rule.js';

/** What a call, an event or an item of a list is about, as far as that is known. */
export interface Subject {
  readonly method: string;
  readonly path: string;
  readonly containerId?: string;
  readonly sandboxId?: string;
  /** Looked up only when a rule asks. */
  readonly known?: () => KnownId | undefined;
  readonly eventKind?: EventKind;
}

/** Of an id so much has to be said at least: it could be a name otherwise. */
const SHORTEST_ID_PART = 12;

/** The subject of an event stream as a whole. */
export function streamSubject(path: string): Subject {
  return { method: EVENTS_METHOD, path };
}

/** Looks up once for all the rules that ask; what is not known yet is looked up again. */
export function lookUpOnce(find: () => KnownId | undefined): () => KnownId | undefined {
  let found: KnownId | undefined;
  return () => (found ??= find());
}

/** Whether pod and container are among those that a rule names, if it names any. */
export function matchesNames({ match: { pods, containers } }: Rule, subject: Subject): boolean {
  if (pods === undefined && containers === undefined) return true;
  const known = subject.known?.();
  if (pods !== undefined && !pods.some((name) => isPod(name, known, subject.sandboxId))) return false;
  if (containers === undefined) return true;
  return containers.some((name) => isContainer(name, known, subject.containerId));
}

function isPod(name: string, known: KnownId | undefined, sandboxId: string | undefined): boolean {
  if (isId(name, sandboxId ?? known?.sandboxId)) return true;
  const pod = known?.pod;
  if (pod === undefined) return false;
  return name === pod.uid || name === pod.name || name === `${pod.namespace}/${pod.name}`;
}

function isContainer(name: string, known: KnownId | undefined, id: string | undefined): boolean {
  return isId(name, id) || (known?.containerName !== undefined && known.containerName === name);
}

function isId(name: string, id: string | undefined): boolean {
  return id !== undefined && name.length >= SHORTEST_ID_PART && id.startsWith(name);
}
