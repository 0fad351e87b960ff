import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type AgentClient } from '../api/agent-client.js';
import { toMarkedYaml } from '../print/default-marks.js';
import { toAgentPath, toTerminalPath } from './agent-paths.js';
import { type PageAnswer, setSafeHeaders } from './answer.js';
import { type PageContent, type PageFacts, type PageRequest } from './page-content.js';
import { PageStreams } from './page-streams.js';
import { PageTerminals } from './page-terminals.js';

/** What {@link AgentContent} needs. */
export interface AgentContentOptions {
  readonly client: AgentClient;
  /** Whether pods may be stopped, started and restarted on the page, and terminals opened in them. */
  readonly canWrite: boolean;
  /** The name of the agent's machine, if it is this one. */
  readonly machine?: string | undefined;
  /** Examines the node; what it resolves with is JSON. */
  readonly examine: (signal: AbortSignal) => Promise<string>;
  /** The images of the runtime, as JSON. */
  readonly listImages: (signal: AbortSignal) => Promise<string>;
}

const ANSWER_LIMIT_MS = 60_000;
const EXAMINATION = '/examination';
const IMAGES = '/images';
const AGENT = '/agent';
const STREAM = '/stream';
const TERMINAL = '/terminal';

/** What the page reads of a running agent, at the agent's socket. */
export class AgentContent implements PageContent {
  readonly facts: PageFacts;
  readonly #options: AgentContentOptions;
  readonly #streams: PageStreams;
  readonly #terminals: PageTerminals;

  constructor(options: AgentContentOptions) {
    this.#options = options;
    this.facts = { canWrite: options.canWrite, isRecorded: false, machine: options.machine };
    this.#streams = new PageStreams(options.client);
    this.#terminals = new PageTerminals(options.client);
  }

  async answer({ method, url, response, signal }: PageRequest): Promise<PageAnswer | undefined> {
    const { client, canWrite, examine, listImages } = this.#options;
    const read = { [EXAMINATION]: examine, [IMAGES]: listImages }[url.pathname];
    if (method === 'GET' && read !== undefined)
      return { code: 200, contentType: 'application/json', body: await read(signal) };
    const target = toAgentPath(method, url, { prefix: AGENT, canWrite });
    if (target === undefined) return undefined;
    const { format, ...query } = target.query as Record<string, string[]>;
    if (format?.[0] === 'yaml') {
      const body = await toMarkedYaml(await client.get(target.path, query), signal);
      return { code: 200, contentType: 'text/plain; charset=utf-8', body };
    }
    const answer = await client.open(method, target.path, {
      ...{ query, signal, limitMs: ANSWER_LIMIT_MS },
      // For the history of the node.
      headers: { 'podloop-client': 'web' },
    });
    setSafeHeaders(response);
    const { 'content-type': contentType = 'application/octet-stream' } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, {
      'cache-control': 'no-store',
      'content-type': contentType,
    });
    await pipeline(answer, response, { signal });
    return undefined;
  }

  upgrade(url: URL, request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const path = toAgentPath('GET', url, { prefix: STREAM });
    if (path !== undefined) {
      this.#streams.accept(request, socket, head, path);
      return true;
    }
    const command = this.facts.canWrite ? toTerminalPath(url, { prefix: TERMINAL }) : undefined;
    if (command === undefined) return false;
    this.#terminals.accept(request, socket, head, command);
    return true;
  }

  close(): void {
    this.#streams.close();
    this.#terminals.close();
  }
}
