import { type Query } from '../api/agent-client.js';

/** A request of the page for something of the agent. */
export interface AgentPath {
  readonly path: string;
  readonly query: Query;
}

const NAME = String.raw`[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?`;
const NAMESPACE = String.raw`\/api\/v1\/namespaces\/${NAME}`;

/** What the page reads, which is nothing that it does not show. */
const READABLE: readonly RegExp[] = [
  /^\/(?:agent|version|stopped|events|incidents|debug\/pleg|stats\/summary)$/,
  /^\/incidents\/[1-9]\d{0,8}$/,
  /^\/api\/v1\/(?:nodes|pods|events)$/,
  new RegExp(`^${NAMESPACE}/pods/${NAME}(?:/log)?$`),
];
const EXEC = new RegExp(`^${NAMESPACE}/pods/${NAME}/exec$`);
/** What it may change where that is allowed. */
const CHANGEABLE: Readonly<Record<string, RegExp>> = {
  POST: new RegExp(`^${NAMESPACE}/pods/${NAME}/(?:restart|start)$`),
  DELETE: new RegExp(`^${NAMESPACE}/pods/${NAME}$`),
};

/** Words of a command that a page may run. */
const MAX_WORDS = 32;

/** The path of a command in a container, for a page that may run one; undefined for what it must not ask for. */
export function toTerminalPath(url: URL, { prefix }: { readonly prefix: string }): AgentPath | undefined {
  if (!url.pathname.startsWith(`${prefix}/`)) return undefined;
  const path = url.pathname.slice(prefix.length);
  const container = url.searchParams.get('container') ?? '';
  const command = url.searchParams.getAll('command');
  if (!EXEC.test(path) || command.length === 0 || command.length > MAX_WORDS) return undefined;
  return { path, query: { command, ...(container === '' ? {} : { container }) } };
}

/** The agent's path behind a prefix of the page's own; undefined for what the page must not ask for. */
export function toAgentPath(
  method: string,
  url: URL,
  { prefix, canWrite = false }: { readonly prefix: string; readonly canWrite?: boolean },
): AgentPath | undefined {
  if (!url.pathname.startsWith(`${prefix}/`)) return undefined;
  const path = url.pathname.slice(prefix.length);
  const isAllowed =
    method === 'GET'
      ? READABLE.some((each) => each.test(path))
      : canWrite && CHANGEABLE[method]?.test(path) === true;
  if (!isAllowed) return undefined;
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
  return { path, query };
}
