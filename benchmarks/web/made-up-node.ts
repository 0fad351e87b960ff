import { type ServerResponse } from 'node:http';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

/** How large a {@link MadeUpNode} is. */
export interface MadeUpNodeOptions {
  readonly pods: number;
  /** Of its history, over the last half hour. */
  readonly records: number;
}

const HISTORY_MS = 25 * 60_000;
/** Records that are written at once. */
const PER_PIECE = 2_000;
/** What happens to a pod, again and again. */
const STEPS = ['started', 'probe', 'sync', 'event', 'died'] as const;

/** A node that answers a page as an agent does: each change is a record of the history and a new status of a pod. */
export class MadeUpNode {
  readonly #options: MadeUpNodeOptions;
  readonly #beganMs = Date.now();
  readonly #followers = new Set<ServerResponse>();
  readonly #watchers = new Set<ServerResponse>();
  readonly #sent: Promise<void>;
  #reportSent = (): void => undefined;
  #number = 0;

  constructor(options: MadeUpNodeOptions) {
    this.#options = options;
    this.#sent = new Promise((resolve) => (this.#reportSent = resolve));
  }

  /** Resolves once somebody has got the whole history. */
  get historySent(): Promise<void> {
    return this.#sent;
  }

  /** Gives its answers to an agent's API. */
  serve(agent: FakeAgentServer): void {
    const { pods, records } = this.#options;
    agent.on('GET /version', () => ({ gitVersion: 'v1' }));
    agent.on('GET /agent', () => ({ kind: 'Agent', nodeName: 'large', manifests: [], problems: [] }));
    agent.on('GET /events', ({ query }, answer) => {
      answer.setHeader('content-type', 'text/event-stream');
      if (query['follow'] === 'false' || query['after'] !== undefined) answer.end();
      else void this.#sendHistory(answer, records);
      return undefined;
    });
    agent.on('WATCH /api/v1/pods', (_, answer) => {
      for (let pod = 0; pod < pods; pod++) answer.write(this.#podLine('ADDED', pod, Date.now()));
      answer.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: {} } })}\n`);
      this.#join(this.#watchers, answer);
      return undefined;
    });
  }

  /** So many changes happen now. */
  change(count: number): void {
    if (count <= 0) return;
    const atMs = Date.now();
    const [records, pods]: [string[], string[]] = [[], []];
    for (let at = 0; at < count; at++) {
      const pod = this.#number % this.#options.pods;
      records.push(this.#recordLine(atMs));
      pods.push(this.#podLine('MODIFIED', pod, atMs));
    }
    for (const answer of this.#followers) answer.write(records.join(''));
    for (const answer of this.#watchers) answer.write(pods.join(''));
  }

  async #sendHistory(answer: ServerResponse, records: number): Promise<void> {
    const closed = new Promise((resolve) => answer.once('close', resolve));
    let piece: string[] = [];
    for (let at = 0; at < records; at++) {
      piece.push(this.#recordLine(this.#beganMs - HISTORY_MS * (1 - at / records)));
      if (piece.length < PER_PIECE && at < records - 1) continue;
      if (!answer.write(piece.join('')))
        await Promise.race([new Promise((resolve) => answer.once('drain', resolve)), closed]);
      piece = [];
    }
    this.#join(this.#followers, answer);
    this.#reportSent();
  }

  #join(group: Set<ServerResponse>, answer: ServerResponse): void {
    group.add(answer);
    answer.once('close', () => group.delete(answer));
  }

  #recordLine(atMs: number): string {
    const number = this.#number++;
    const { pods } = this.#options;
    const pod = number % pods;
    const round = Math.floor(number / pods);
    const step = STEPS[(round + pod) % STEPS.length]!;
    const life = Math.floor((round + pod) / STEPS.length);
    const id = `${Math.floor(atMs)}-${number}`;
    const about = { uid: `uid-${pod}`, namespace: 'default', name: `pod-${pod}` };
    const base = {
      id,
      atMs,
      pod: about,
      container: 'main',
      type: 'Normal',
      ...fieldsOf(step, `${pod}-${life}`),
    };
    return `id: ${id}\ndata: ${JSON.stringify(base)}\n\n`;
  }

  #podLine(type: string, pod: number, atMs: number): string {
    const state = { running: { startedAt: new Date(atMs).toISOString() } };
    const containerStatuses = [
      { name: 'main', ready: true, restartCount: 1, containerID: `made-up://${pod}-now`, state },
    ];
    const object = {
      metadata: { uid: `uid-${pod}`, namespace: 'default', name: `pod-${pod}`, creationTimestamp: TIME },
      spec: { containers: [{ name: 'main', image: 'made-up:1' }] },
      status: { phase: 'Running', containerStatuses },
    };
    return `${JSON.stringify({ type, object })}\n`;
  }
}

const TIME = '2026-01-01T00:00:00Z';

function fieldsOf(step: (typeof STEPS)[number], containerId: string): object {
  const facts = { containerId, containerKind: 'container' };
  switch (step) {
    case 'started':
      return {
        kind: 'lifecycle',
        reason: 'ContainerStarted',
        message: 'Container main started',
        details: facts,
      };
    case 'died':
      return {
        ...{ kind: 'lifecycle', type: 'Warning', reason: 'ContainerDied' },
        ...{ message: 'Container main died with exit code 1: Error', details: { ...facts, exitCode: 1 } },
      };
    case 'probe':
      return { kind: 'probe', reason: 'ReadinessSucceeded', message: 'Readiness probe succeeded' };
    case 'sync':
      return { kind: 'sync', reason: 'PodSynced', message: 'started main', details: { durationMs: 40 } };
    case 'event':
      return { kind: 'event', reason: 'Created', message: 'Created container main' };
  }
}
